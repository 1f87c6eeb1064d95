import type { Queryable } from '../base/db/index.ts';

/** A subscription that is due, as a worker looks for work. */
export interface Due {
  readonly id: string;
  readonly consumerId: number;
  readonly version: number;
  readonly filter: string | null;
  readonly callbackUrl: string;
  readonly cursor: bigint;
  readonly epoch: number;
  readonly batchHi: bigint | null;
  readonly batchCount: number;
  readonly attempt: number;
  readonly unsettled: number;
  readonly failures: number;
  readonly slow: boolean;
  readonly redrive: boolean;
  readonly maxEvents: number;
  readonly maxBytes: number;
  readonly maxWaitMs: number;
  readonly batchLimit: number | null;
  readonly head: bigint;
  readonly logEpoch: number;
  /** Where its walk began, and the head at that time. */
  readonly originSeq: bigint;
  readonly begunSeq: bigint;
}

/** True for a lease that nobody holds: never given, over, or given to a worker that is dead. */
export const leaseFree = `
(s.lease_until is null or s.lease_until <= clock_timestamp() or not exists (
  select from pulsefeed.push_worker w where w.id = s.worker_id and w.alive_until > clock_timestamp()
))`;

/** Subscriptions with something to do that nobody is at, the longest due first. */
export function dueSubscriptions(db: Queryable, most: number): Promise<Due[]> {
  return db.query<Due>({
    name: 'push_due',
    text: `
select s.id, s.consumer_id as "consumerId", s.version, s.filter, s.callback_url as "callbackUrl",
  s.cursor_seq as cursor, s.epoch, s.batch_hi as "batchHi", s.batch_count as "batchCount", s.attempt, s.unsettled,
  s.failures, s.slow, s.redrive, s.max_events as "maxEvents", s.max_bytes as "maxBytes", s.max_wait_ms as "maxWaitMs",
  s.batch_limit as "batchLimit", h.last_seq as head, h.epoch as "logEpoch", s.origin_seq as "originSeq",
  s.begun_seq as "begunSeq"
from pulsefeed.log_head h
join pulsefeed.push_subscription s on s.state = 'active' and s.due_at <= clock_timestamp()
  and (s.cursor_seq < h.last_seq or s.batch_hi is not null or s.redrive or s.epoch <> h.epoch)
join pulsefeed.consumer c on c.id = s.consumer_id and not c.disabled and 'read' = any (c.scopes)
where ${leaseFree}
order by s.due_at
limit $1`,
    values: [most],
  });
}

/** A dead letter that waits to be sent again. */
export interface QueuedLetter {
  readonly id: bigint;
  readonly subscriptionId: string;
  readonly seq: bigint;
}

/** The first queued dead letter of each subscription. */
export function queuedLetters(db: Queryable, ids: readonly string[]): Promise<QueuedLetter[]> {
  return db.query<QueuedLetter>({
    text: `
select distinct on (subscription_id) id, subscription_id as "subscriptionId", seq
from pulsefeed.push_dead_letter
where subscription_id = any ($1) and state = 'queued'
order by subscription_id, seq`,
    values: [[...ids]],
  });
}

/** Which consumers hold the same feeds, their private ones aside: a hint for reading together, never for who may see. */
export async function feedClasses(db: Queryable): Promise<ReadonlyMap<number, string>> {
  const rows = await db.query<{ id: number; feeds: string }>({
    text: `
select cf.consumer_id as id, string_agg(cf.feed_id::text, ',' order by cf.feed_id) as feeds
from pulsefeed.consumer_feed cf
join pulsefeed.feed f on f.id = cf.feed_id and f.definition_id is not null
where cf.consumer_id in (select consumer_id from pulsefeed.push_subscription)
group by cf.consumer_id`,
  });
  return new Map(rows.map(({ id, feeds }) => [id, feeds]));
}
