import type { Scope } from '../base/auth/viewer.ts';
import type { Db, Queryable } from '../base/db/index.ts';
import { PulsefeedError } from '../base/errors.ts';
import { carryHorizon, lockTombstones } from '../log/index.ts';

/** Attribute -> its values, such as `{ OfficeKey: ['123'] }`. */
export type ConsumerAttributes = Readonly<Record<string, readonly string[]>>;

/** A consumer as it is kept; never with a secret. */
export interface Consumer {
  readonly id: number;
  readonly name: string;
  readonly clientId: string;
  readonly scopes: readonly Scope[];
  readonly attributes: ConsumerAttributes;
  readonly disabled: boolean;
  /** Names of the definitions it was granted. */
  readonly grants: readonly string[];
}

/** A new consumer. Its secret comes as a hash. */
export interface NewConsumer {
  readonly name: string;
  readonly clientId: string;
  readonly secretHash: string;
  readonly scopes: readonly Scope[];
  readonly attributes: ConsumerAttributes;
  readonly grants: readonly string[];
}

/** What a change of grants or attributes may set; what is absent stays. */
export interface ConsumerChange {
  readonly grants?: readonly string[];
  readonly attributes?: ConsumerAttributes;
}

/**
 * Adds a consumer with its private feed. It has no cursor yet, so nothing need be told to it: the pulses retained in
 * its feeds name all it may see. Feeds that are new with its attributes are walked.
 * @throws EE-205 for an unknown feed, EE-119 for a name that is taken.
 */
export async function addConsumer(db: Db, consumer: NewConsumer): Promise<number> {
  return db.transaction(async tx => {
    await lockHead(tx);
    const [taken] = await tx.query({
      text: 'select from pulsefeed.consumer where name = $1',
      values: [consumer.name],
    });
    if (taken !== undefined)
      throw new PulsefeedError('EE-119', `There is a consumer ${consumer.name} already.`);
    const [row] = await tx.query<{ id: number }>({
      text: `
with private as (
  insert into pulsefeed.feed (name) values ('~' || $1) returning id
)
insert into pulsefeed.consumer (name, client_id, secret_hash, scopes, attributes, private_feed_id)
select $1, $2, $3, $4, $5, id from private
returning id`,
      values: [
        consumer.name,
        consumer.clientId,
        consumer.secretHash,
        [...consumer.scopes],
        JSON.stringify(consumer.attributes),
      ],
    });
    const id = row?.id ?? 0;
    await setGrants(tx, id, consumer.grants);
    await walkNewValues(tx, id, consumer.attributes);
    await resolveFeeds(tx, id);
    return id;
  });
}

/**
 * Changes grants or attributes, under the head lock. What the consumer holds changes at once; the walks queued here
 * then tell it, over its private feed, of every record that it gained or lost.
 * @throws EE-205 for an unknown consumer or feed.
 */
export async function changeConsumer(db: Db, name: string, change: ConsumerChange): Promise<void> {
  await db.transaction(async tx => {
    await lockHead(tx);
    const consumer = await readConsumer(tx, name);
    const before = await heldFeeds(tx, consumer.id);
    if (change.grants !== undefined) await setGrants(tx, consumer.id, change.grants);
    if (change.attributes !== undefined) {
      await tx.query({
        text: 'update pulsefeed.consumer set attributes = $2 where id = $1',
        values: [consumer.id, JSON.stringify(change.attributes)],
      });
    }
    const fresh = await walkNewValues(tx, consumer.id, change.attributes ?? consumer.attributes);
    await resolveFeeds(tx, consumer.id);
    const after = await heldFeeds(tx, consumer.id);
    const lost = before.filter(id => !after.includes(id));
    // A feed that did not exist before has no record yet: what enters it is pulsed to it.
    const gained = after.filter(id => !before.includes(id) && !fresh.includes(id));
    // A feed held before and after tells of its records, also when it is lost later: losing tells of all of them.
    const kept = before.filter(id => after.includes(id));
    await queueWalk(tx, 'grant', consumer.id, gained, kept);
    await queueWalk(tx, 'revoke', consumer.id, lost, []);
    if (lost.length > 0) {
      await tx.query(lockTombstones);
      await tx.query(carryHorizon(consumer.id, lost));
    }
  });
}

/** @throws EE-205 */
export async function readConsumer(db: Queryable, name: string): Promise<Consumer> {
  const found = (await listConsumers(db)).find(consumer => consumer.name === name);
  if (found === undefined) throw new PulsefeedError('EE-205', `There is no consumer ${name}.`);
  return found;
}

/** All consumers by name. */
export async function listConsumers(db: Queryable): Promise<Consumer[]> {
  return db.query<Consumer>({
    text: `
select c.id, c.name, c.client_id as "clientId", c.scopes, c.attributes, c.disabled,
  coalesce((
    select array_agg(d.name order by d.name)
    from pulsefeed.consumer_grant g join pulsefeed.feed_definition d on d.id = g.definition_id
    where g.consumer_id = c.id
  ), '{}') as grants
from pulsefeed.consumer c
order by c.name`,
  });
}

async function lockHead(tx: Queryable): Promise<void> {
  await tx.query({ text: 'select from pulsefeed.log_head for update' });
}

async function setGrants(tx: Queryable, consumerId: number, grants: readonly string[]): Promise<void> {
  const known = await tx.query<{ id: number; name: string }>({
    text: 'select id, name from pulsefeed.feed_definition where name = any ($1)',
    values: [[...grants]],
  });
  const unknown = grants.filter(name => !known.some(definition => definition.name === name));
  if (unknown.length > 0) throw new PulsefeedError('EE-205', `There is no feed ${unknown.join(', ')}.`);
  await tx.query({
    text: 'delete from pulsefeed.consumer_grant where consumer_id = $1',
    values: [consumerId],
  });
  await tx.query({
    text: `insert into pulsefeed.consumer_grant (consumer_id, definition_id) select $1, unnest($2::integer[])`,
    values: [consumerId, known.map(({ id }) => id)],
  });
}

/** Makes the feeds of values that nobody had before, and queues the walk that fills them. */
async function walkNewValues(
  tx: Queryable,
  consumerId: number,
  attributes: ConsumerAttributes,
): Promise<number[]> {
  const pairs = Object.entries(attributes).flatMap(([name, values]) =>
    values.map(value => ({ name, value })),
  );
  const rows = await tx.query<{ id: number }>({
    text: `
insert into pulsefeed.feed (definition_id, value, name)
select distinct d.id, a.value, d.name || '(' || a.value || ')'
from pulsefeed.consumer_grant g
join pulsefeed.feed_definition d on d.id = g.definition_id
join unnest($2::text[], $3::text[]) a (name, value) on a.name = d.attribute
where g.consumer_id = $1
on conflict (definition_id, value) do nothing
returning id`,
    values: [consumerId, pairs.map(({ name }) => name), pairs.map(({ value }) => value)],
  });
  const ids = rows.map(({ id }) => id);
  await queueWalk(tx, 'value', undefined, ids, []);
  return ids;
}

/** The feeds that follow from grants and attributes, and the private one. */
async function resolveFeeds(tx: Queryable, consumerId: number): Promise<void> {
  await tx.query({
    text: 'delete from pulsefeed.consumer_feed where consumer_id = $1',
    values: [consumerId],
  });
  await tx.query({
    text: `
insert into pulsefeed.consumer_feed (consumer_id, feed_id)
select c.id, f.id
from pulsefeed.consumer c
join pulsefeed.consumer_grant g on g.consumer_id = c.id
join pulsefeed.feed_definition d on d.id = g.definition_id
join pulsefeed.feed f on f.definition_id = d.id
where c.id = $1
  and (d.attribute is null and f.value is null
    or f.value in (select jsonb_array_elements_text(c.attributes -> d.attribute)))
union
select id, private_feed_id from pulsefeed.consumer where id = $1`,
    values: [consumerId],
  });
}

async function heldFeeds(tx: Queryable, consumerId: number): Promise<number[]> {
  const rows = await tx.query<{ id: number }>({
    text: `
select cf.feed_id as id from pulsefeed.consumer_feed cf
join pulsefeed.feed f on f.id = cf.feed_id
where cf.consumer_id = $1 and f.definition_id is not null
order by 1`,
    values: [consumerId],
  });
  return rows.map(({ id }) => id);
}

async function queueWalk(
  tx: Queryable,
  kind: 'value' | 'grant' | 'revoke',
  consumerId: number | undefined,
  feeds: readonly number[],
  otherFeeds: readonly number[],
): Promise<void> {
  if (feeds.length === 0) return;
  await tx.query({
    text: `
insert into pulsefeed.visibility_walk (kind, consumer_id, feeds, other_feeds)
values ($1, $2, $3::integer[], $4::integer[])`,
    values: [kind, consumerId ?? null, [...feeds], [...otherFeeds]],
  });
}
