import type { Queryable } from '../base/db/index.ts';
import { leaseFree } from './due-sql.ts';

/**
 * A part of a statement that lets its commit not wait for the disk, where `condition` holds. What a crash of the database
 * may then take back is its last moments of claims and plain deliveries: they are made again, under the same ids where
 * the windows are the same. The cursor never stands for what was not taken. Of the 6.7 ms that settling 40 tries took,
 * 1.3 were work and most of the rest was the wait, and the provider's own commits wait for the same disk.
 */
export const unhurried = (condition: string): string => `
unhurried as materialized (
  select set_config('synchronous_commit', case when ${condition} then 'off' else current_setting('synchronous_commit') end, true)
)`;

/** What a worker wants to deliver: the subscription as it saw it, and the window it read. */
export interface Wanted {
  readonly id: string;
  readonly version: number;
  readonly cursor: bigint;
  /** The end of the window; for `redrive` nothing is frozen. */
  readonly hi: bigint;
  readonly count: number;
  readonly kind: 'fresh' | 'again' | 'redrive';
}

/** A claim that was granted: what to deliver it with. */
export interface Claimed {
  readonly id: string;
  readonly token: bigint;
  readonly generation: number;
  /** The frozen window and the number of its events when it was frozen. */
  readonly cursor: bigint;
  readonly hi: bigint;
  readonly count: number;
  readonly attempt: number;
  readonly unsettled: number;
  readonly rejections: number;
  readonly failures: number;
  readonly failingForS: number;
  readonly epoch: number;
  readonly suspectHi: bigint | null;
  readonly batchLimit: number | null;
  readonly tokenRefreshed: boolean;
  readonly callbackUrl: string;
  readonly version: number;
  readonly source: string | null;
  readonly maxEvents: number;
  readonly requestsPerMinute: number;
  readonly expandRecord: boolean;
  readonly signature: 'hmac' | 'ed25519' | 'both';
  readonly onRejected: 'dead-letter' | 'pause';
  readonly rejectTries: number;
  readonly retrySchedule: readonly number[];
  readonly retryForS: number;
  readonly secret: Buffer;
  readonly previousSecret: Buffer | null;
  readonly credentialId: string | null;
  readonly credential: Buffer | null;
}

/**
 * Claims what is wanted, each for one POST, in one statement: the window is frozen, the try is counted and the fencing
 * token grows before anything is sent. Whatever changed since it was read, or is held by another, is left out.
 */
export function claim(
  db: Queryable,
  workerId: bigint,
  leaseMs: number,
  wanted: readonly Wanted[],
): Promise<Claimed[]> {
  return db.query<Claimed>({
    name: 'push_claim',
    text: `
with want as (
  select * from jsonb_to_recordset($1) as x (id text, version integer, cursor bigint, hi bigint, count integer, kind text)
), free as (
  select s.id, w.hi, w.count, w.kind
  from want w
  join pulsefeed.push_subscription s on s.id = w.id
  where s.state = 'active' and s.version = w.version and s.cursor_seq = w.cursor and s.due_at <= clock_timestamp()
    and ${leaseFree}
    and case w.kind when 'fresh' then s.batch_hi is null when 'again' then s.batch_hi = w.hi else s.redrive end
  for update of s skip locked
), ${unhurried('true')}, claimed as (
update pulsefeed.push_subscription s
set lease_token = s.lease_token + 1, lease_until = clock_timestamp() + $2 * interval '1 millisecond', worker_id = $3,
  batch_hi = case when f.kind = 'redrive' then s.batch_hi else f.hi end,
  batch_count = case when f.kind = 'fresh' then f.count else s.batch_count end,
  attempt = case f.kind when 'fresh' then 1 when 'again' then s.attempt + 1 else s.attempt end,
  unsettled = case f.kind when 'again' then s.unsettled + 1 when 'fresh' then 1 else s.unsettled end
from free f
left join lateral (
  select c.id, c.sealed from pulsefeed.push_subscription o
  join pulsefeed.push_credential c on c.id = o.credential_id where o.id = f.id
) c on true
where s.id = f.id
returning s.id, s.lease_token as token, s.generation, s.cursor_seq as cursor, coalesce(s.batch_hi, f.hi) as hi,
  s.batch_count as count, s.attempt, s.unsettled, s.rejections, s.failures,
  coalesce(extract(epoch from clock_timestamp() - s.failing_since), 0)::float8 as "failingForS", s.epoch,
  s.suspect_hi as "suspectHi", s.batch_limit as "batchLimit", s.token_refreshed as "tokenRefreshed",
  s.callback_url as "callbackUrl", s.version, s.source, s.max_events as "maxEvents",
  s.requests_per_minute as "requestsPerMinute", s.expand_record as "expandRecord", s.signature,
  s.on_rejected as "onRejected", s.reject_tries as "rejectTries", s.retry_schedule as "retrySchedule",
  s.retry_for_s as "retryForS", s.secret,
  case when s.previous_until > clock_timestamp() then s.previous_secret end as "previousSecret",
  c.id as "credentialId", c.sealed as credential
)
select claimed.* from claimed, unhurried`,
    values: [
      JSON.stringify(
        wanted.map(({ cursor, hi, ...rest }) => ({ ...rest, cursor: String(cursor), hi: String(hi) })),
      ),
      leaseMs,
      workerId,
    ],
  });
}
