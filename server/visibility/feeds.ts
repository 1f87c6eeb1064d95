import type { ResourceTable } from '../base/catalog/index.ts';
import type { ResourceConfig } from '../base/config/index.ts';
import type { Db, Queryable } from '../base/db/index.ts';
import { PulsefeedError } from '../base/errors.ts';
import { lockRules, writeRules } from '../log/index.ts';
import { compileFeeds } from './compile-rules.ts';
import { type FeedsConfig, invalidRules } from './feed-config.ts';

/** The largest number of feeds that have a bit of their own in each pulse. */
const mostShared = 63;

/** What applying did. */
export interface Applied {
  /** False when these rules were the current ones already. */
  readonly changed: boolean;
  readonly version: number;
}

/**
 * Makes `feeds` the rules: one short transaction under the head lock sets the version and queues the walk, which the
 * sequencer then follows record by record. Nothing is missed, since every record is looked at under the new version
 * at its next change or by the walk (RULESET, RULE).
 * @throws EE-203 for rules with faults, EE-204 while an earlier change is still walking or being numbered.
 */
export async function applyFeeds(
  db: Db,
  feeds: FeedsConfig,
  resources: readonly ResourceConfig[],
  tables: readonly ResourceTable[],
): Promise<Applied> {
  const { attributes } = compileFeeds(feeds, resources, tables);
  return db.transaction(async tx => {
    const current = await lockRules(tx);
    if (sameJson(current.feeds, feeds)) return { changed: false, version: current.version };
    await refuseWhileWalking(tx);
    for (const [name, attribute] of attributes) await ensureDefinition(tx, name, attribute);
    const version = await writeRules(tx, current.version, { resources, feeds });
    await tx.query({ text: `insert into pulsefeed.visibility_walk (kind) values ('rules')` });
    return { changed: true, version };
  });
}

/**
 * Also while records that were queued are not numbered: a reader may have met 404 under the rules that are to be
 * replaced, and would not be told if the next rules show the record again before anybody looked at it.
 */
async function refuseWhileWalking(tx: Queryable): Promise<void> {
  const [open] = await tx.query({
    text: `
select where exists (select from pulsefeed.visibility_walk where finished_at is null)
  or exists (select from pulsefeed.record_change where op = 'r')
  or exists (select from pulsefeed.batch_key where op = 'r')
  or exists (
    select from pulsefeed.record_state s where s.due_at <= (select rule_clock from pulsefeed.log_head)
  )`,
  });
  if (open !== undefined) {
    throw new PulsefeedError('EE-204', 'An earlier change of rules or grants is still being applied.');
  }
}

/** A definition and, unless it depends on the consumer, its feed with the lowest free bit. */
async function ensureDefinition(tx: Queryable, name: string, attribute: string | undefined): Promise<void> {
  const [before] = await tx.query<{ attribute: string | null }>({
    text: 'select attribute from pulsefeed.feed_definition where name = $1',
    values: [name],
  });
  if (before !== undefined && before.attribute !== (attribute ?? null)) {
    throw invalidRules([
      `feed ${name}: ${dependence(before.attribute)} until now, and ${dependence(attribute ?? null)} in these rules; ` +
        'give the new feed another name',
    ]);
  }
  const [definition] = await tx.query<{ id: number; attribute: string | null }>({
    text: `
insert into pulsefeed.feed_definition (name, attribute) values ($1, $2)
on conflict (name) do update set name = excluded.name
returning id`,
    values: [name, attribute ?? null],
  });
  if (attribute !== undefined) return;
  await tx.query({
    text: `
insert into pulsefeed.feed (definition_id, name, bit)
select $1, $2, (
  select min(b) from generate_series(0, $3::integer - 1) b
  where not exists (select from pulsefeed.feed f where f.bit = b)
)
where not exists (select from pulsefeed.feed where definition_id = $1 and value is null)`,
    values: [definition?.id, name, mostShared],
  });
}

function dependence(attribute: string | null): string {
  return attribute === null ? 'the same for every consumer' : `by @consumer.${attribute}`;
}

function sameJson(a: unknown, b: unknown): boolean {
  return stable(a) === stable(b);
}

function stable(value: unknown): string {
  return JSON.stringify(value, (_, member: unknown) =>
    typeof member === 'object' && member !== null && !Array.isArray(member)
      ? Object.fromEntries(Object.entries(member).sort(([x], [y]) => (x < y ? -1 : 1)))
      : member,
  );
}
