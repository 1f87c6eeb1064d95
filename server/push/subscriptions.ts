import { randomBytes } from 'node:crypto';
import type { Queryable } from '../base/db/index.ts';
import { PulsefeedError } from '../base/errors.ts';
import type { PushContext } from './push-context.ts';
import { newSigningSecret, publicKeyOf, type SigningSecret } from './signing.ts';
import type { SubscriptionBody, SubscriptionFields } from './subscription-body.ts';

/** Whose subscriptions may be touched: a consumer's, or all (null). */
export type Owner = number | null;

/** A new signing secret as it is shown, once. */
export interface NewSecret {
  readonly SigningSecret: string;
  readonly SigningPublicKey: string;
}

/**
 * Adds a subscription: from the head when no sequence was given, from the beginning with 0, behind N with N.
 * @throws EE-500 when the consumer has as many as it may, EE-107 for a credential that is not its own, EE-114 for a
 * sequence above the head: it would pass over what is numbered next.
 */
export async function createSubscription(
  { seal, mostPerConsumer }: Pick<PushContext, 'seal' | 'mostPerConsumer'>,
  tx: Queryable,
  consumerId: number,
  { fields, sequence }: SubscriptionBody,
): Promise<{ readonly id: string; readonly shown: NewSecret }> {
  const id = `sub_${randomBytes(15).toString('base64url')}`;
  const secret = newSigningSecret();
  // One at a time for a consumer, so that the count holds.
  await tx.query({
    text: 'select from pulsefeed.consumer where id = $1 for no key update',
    values: [consumerId],
  });
  const [row] = await tx.query<{ head: bigint; has: bigint }>({
    text: `
select h.last_seq as head, (select count(*) from pulsefeed.push_subscription where consumer_id = $1) as has
from pulsefeed.log_head h`,
    values: [consumerId],
  });
  const { head, has } = row ?? { head: 0n, has: 0n };
  if (has >= BigInt(mostPerConsumer)) {
    throw new PulsefeedError('EE-500', `A consumer may have ${mostPerConsumer} subscriptions.`);
  }
  refuseAboveHead(sequence, head);
  await checkCredential(tx, consumerId, fields.credential_id);
  const columns = Object.keys(fields);
  await tx.query({
    text: `
insert into pulsefeed.push_subscription (id, consumer_id, secret, cursor_seq, origin_seq, begun_seq, epoch, ${columns.join(', ')})
select $1, $2, $3, $4, $4, h.last_seq, h.epoch, ${columns.map((_, index) => `$${index + 5}`).join(', ')}
from pulsefeed.log_head h`,
    values: [id, consumerId, seal.seal(id, secret), sequence ?? head, ...Object.values(fields)],
  });
  return { id, shown: shownOf(secret) };
}

/**
 * Changes settings. A frozen batch is given up, since it was made by the old ones, and a delivery under way is fenced off.
 * @returns false when there is no such subscription of the owner.
 */
export async function changeSubscription(
  tx: Queryable,
  owner: Owner,
  id: string,
  fields: SubscriptionFields,
): Promise<boolean> {
  const columns = Object.keys(fields);
  const [found] = await tx.query<{ consumer_id: number }>({
    text: `
select consumer_id from pulsefeed.push_subscription
where id = $1 and ($2::integer is null or consumer_id = $2) for update`,
    values: [id, owner],
  });
  if (found === undefined) return false;
  await checkCredential(tx, found.consumer_id, fields.credential_id);
  await touch(
    tx,
    id,
    'thaw',
    columns.map((column, index) => `${column} = $${index + 2}`),
    Object.values(fields),
  );
  return true;
}

/** Stops deliveries; the cursor stays. */
export function pauseSubscription(tx: Queryable, owner: Owner, id: string, reason: string): Promise<boolean> {
  return whenOwned(tx, owner, id, async state => {
    if (state === 'paused') return;
    await touch(tx, id, 'keep', [`state = 'paused'`, 'reason = $2', 'state_at = now()'], [reason]);
  });
}

/** Delivers again from the cursor, at once (the POST that RCP-028 speaks of). @throws EE-503 where the log no longer reaches back to the cursor. */
export function resumeSubscription(tx: Queryable, owner: Owner, id: string): Promise<boolean> {
  return whenOwned(tx, owner, id, async state => {
    if (state === 'must-reinitialise') {
      throw new PulsefeedError('EE-503', 'The log does not reach back to this cursor: Seek to 0 first.');
    }
    await touch(tx, id, 'keep', [
      `state = 'active'`,
      'reason = null',
      'state_at = now()',
      'failures = 0',
      'failing_since = null',
      'token_refreshed = false',
      'rejections = 0',
      'due_at = now()',
    ]);
  });
}

/** Where to go on: behind a sequence, or behind what had been numbered at a time. */
export type SeekTarget = { readonly sequence: bigint } | { readonly at: string };

/**
 * Moves the cursor, forward or back; what is under way is fenced off. A subscription that had to be initialised anew is
 * active again. @throws EE-114 above the head.
 */
export function seekSubscription(
  tx: Queryable,
  owner: Owner,
  id: string,
  target: SeekTarget,
): Promise<boolean> {
  return whenOwned(tx, owner, id, async state => {
    const [row] = await tx.query<{ head: bigint; epoch: number; seq: bigint }>({
      text: `
select h.last_seq as head, h.epoch, coalesce((
  select t.seq from pulsefeed.log_time t where t.at <= $1::timestamptz order by t.at desc, t.seq desc limit 1
), 0) as seq
from pulsefeed.log_head h`,
      values: ['at' in target ? target.at : '-infinity'],
    });
    const { head, epoch, seq } = row ?? { head: 0n, epoch: 1, seq: 0n };
    const sequence = 'sequence' in target ? target.sequence : seq;
    refuseAboveHead(sequence, head);
    await touch(
      tx,
      id,
      'thaw',
      [
        'cursor_seq = $2',
        'origin_seq = $2',
        'begun_seq = $4',
        'epoch = $3',
        'due_at = now()',
        ...(state === 'must-reinitialise' ? [`state = 'active'`, 'reason = null', 'state_at = now()'] : []),
      ],
      [sequence, epoch, head],
    );
  });
}

/** Makes new signing keys; the old ones sign beside them for `overlapS` seconds. */
export async function rotateSecret(
  { seal }: Pick<PushContext, 'seal'>,
  tx: Queryable,
  owner: Owner,
  id: string,
  overlapS: number,
): Promise<NewSecret | undefined> {
  const secret = newSigningSecret();
  const found = await whenOwned(tx, owner, id, async () => {
    await tx.query({
      text: `
update pulsefeed.push_subscription
set previous_secret = secret, previous_until = now() + $3 * interval '1 second', secret = $2, version = version + 1
where id = $1`,
      values: [id, seal.seal(id, secret), overlapS],
    });
  });
  return found ? shownOf(secret) : undefined;
}

/** Sends dead letters again, in their order, before anything else: all, or the one with this sequence. @returns how many; undefined when there is no such subscription. */
export async function redriveDeadLetters(
  tx: Queryable,
  owner: Owner,
  id: string,
  sequence: bigint | undefined,
): Promise<number | undefined> {
  let count = 0;
  const found = await whenOwned(tx, owner, id, async () => {
    const rows = await tx.query({
      text: `
update pulsefeed.push_dead_letter set state = 'queued'
where subscription_id = $1 and state = 'dead' and ($2::bigint is null or seq = $2)
returning id`,
      values: [id, sequence ?? null],
    });
    count = rows.length;
    await tx.query({
      text: 'update pulsefeed.push_subscription set redrive = true, due_at = now() where id = $1',
      values: [id],
    });
  });
  return found ? count : undefined;
}

/** @returns false when there is none of the owner. */
export async function deleteSubscription(tx: Queryable, owner: Owner, id: string): Promise<boolean> {
  const rows = await tx.query({
    text: `
delete from pulsefeed.push_subscription
where id = $1 and ($2::integer is null or consumer_id = $2) returning id`,
    values: [id, owner],
  });
  return rows.length > 0;
}

async function whenOwned(
  tx: Queryable,
  owner: Owner,
  id: string,
  work: (state: string) => Promise<void>,
): Promise<boolean> {
  const [found] = await tx.query<{ state: string }>({
    text: `
select state from pulsefeed.push_subscription
where id = $1 and ($2::integer is null or consumer_id = $2) for update`,
    values: [id, owner],
  });
  if (found === undefined) return false;
  await work(found.state);
  return true;
}

/** Every change by a person: whoever holds the lease is refused. Under new settings or a new cursor no batch stays frozen. */
async function touch(
  tx: Queryable,
  id: string,
  batch: 'keep' | 'thaw',
  assignments: readonly string[],
  values: readonly unknown[] = [],
): Promise<void> {
  await tx.query({
    text: `
update pulsefeed.push_subscription
set ${[...assignments, ...fencing, ...(batch === 'thaw' ? thawing : [])].join(', ')}
where id = $1`,
    values: [id, ...values],
  });
}

const fencing = [
  'version = version + 1',
  'lease_token = lease_token + 1',
  'lease_until = null',
  'worker_id = null',
  'unsettled = 0',
];
const thawing = [
  'generation = generation + 1',
  'batch_hi = null',
  'attempt = 0',
  'batch_limit = null',
  'suspect_hi = null',
];

async function checkCredential(
  tx: Queryable,
  consumerId: number,
  id: string | null | undefined,
): Promise<void> {
  if (id == null) return;
  const [found] = await tx.query({
    text: 'select from pulsefeed.push_credential where id = $1 and consumer_id = $2',
    values: [id, consumerId],
  });
  if (found === undefined) {
    throw new PulsefeedError('EE-114', 'There is no such credential.', { target: 'CallbackCredentialId' });
  }
}

function refuseAboveHead(sequence: bigint | undefined, head: bigint): void {
  if (sequence === undefined || sequence <= head) return;
  throw new PulsefeedError('EE-114', `EntityEventSequence is above the head of the log, ${head}.`, {
    target: 'EntityEventSequence',
  });
}

function shownOf(secret: SigningSecret): NewSecret {
  return { SigningSecret: secret.hmac, SigningPublicKey: publicKeyOf(secret) };
}
