import type { Queryable, Statement } from '../base/db/index.ts';
import type { Settlement } from './decide.ts';

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
const leaseFree = `
(s.lease_until is null or s.lease_until <= clock_timestamp() or not exists (
  select from pulsefeed.push_worker w where w.id = s.worker_id and w.alive_until > clock_timestamp()
))`;

/**
 * A part of a statement that lets its commit not wait for the disk, where `condition` holds. What a crash of the database
 * may then take back is its last moments of claims and plain deliveries: they are made again, under the same ids where
 * the windows are the same. The cursor never stands for what was not taken. Waiting cost two thirds of the deliveries
 * a second on a slow disk, and the provider's own commits wait for the same disk.
 */
const unhurried = (condition: string): string => `
unhurried as materialized (
  select set_config('synchronous_commit', case when ${condition} then 'off' else current_setting('synchronous_commit') end, true)
)`;

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

/** A try that has ended, with what it comes to. */
export interface Settled {
  readonly id: string;
  readonly token: bigint;
  readonly settlement: Settlement;
  readonly attempt: {
    readonly attempt: number;
    readonly after: bigint;
    readonly upTo: bigint;
    readonly events: number;
    readonly bytes: number;
    readonly status: number | undefined;
    readonly ms: number;
  };
  /** The event that goes to the dead letters with this try. */
  readonly dead:
    | { readonly seq: bigint; readonly resource: string; readonly key: string; readonly excerpt: string }
    | undefined;
  /** What the holder goes on with, claimed in the same statement; absent: it gives the subscription back. */
  readonly next: Wanted | undefined;
  /** The dead letter that was sent again, and what became of it; `queued` stays. */
  readonly letter:
    | { readonly id: bigint; readonly state: 'queued' | 'sent' | 'dead' | 'superseded' }
    | undefined;
}

/**
 * Writes what tries came to, many in one statement: the cursor, the dead letters and the log of attempts together. A
 * holder whose token is not the last one, or whose lease is over by the database's clock, is refused. Where `next` is
 * given, nothing was changed by a person and no dead letter waits, the next batch is claimed with it, under a new token.
 * @returns the ids that were written, each with whether its next batch was claimed.
 */
export async function settle(
  db: Queryable,
  workerId: bigint,
  leaseMs: number,
  tries: readonly Settled[],
): Promise<ReadonlyMap<string, { readonly goesOn: boolean }>> {
  const rows = await db.query<{ id: string; goesOn: boolean }>(settleStatement(workerId, leaseMs, tries));
  return new Map(rows.map(({ id, goesOn }) => [id, { goesOn }]));
}

function settleStatement(workerId: bigint, leaseMs: number, tries: readonly Settled[]): Statement {
  return {
    name: 'push_settle',
    text: `
with given as materialized (
  select * from jsonb_to_recordset($1) as x (
    id text, token bigint, outcome text, cursor bigint, thaw boolean, due_ms float8, state text, reason text,
    failures integer, rejections integer, batch_limit integer, suspect_hi bigint, token_refreshed boolean, slow boolean,
    attempt integer, after_seq bigint, up_to_seq bigint, events integer, bytes integer, status integer,
    ms integer, dead_seq bigint, dead_resource text, dead_key text, excerpt text, letter_id bigint, letter_state text,
    next_hi bigint, next_count integer, version integer)
), moved as (
  update pulsefeed.push_subscription s
  set cursor_seq = g.cursor,
    lease_until = case when n.on then clock_timestamp() + $3 * interval '1 millisecond' end,
    worker_id = case when n.on then $2::bigint end,
    lease_token = case when n.on then s.lease_token + 1 else s.lease_token end,
    unsettled = case when n.on then 1 else 0 end,
    batch_hi = case when n.on then g.next_hi when not g.thaw then s.batch_hi end,
    batch_count = case when n.on then g.next_count else s.batch_count end,
    attempt = case when n.on then 1 when g.thaw then 0 else s.attempt end,
    due_at = clock_timestamp() + g.due_ms * interval '1 millisecond',
    state = g.state, reason = g.reason,
    state_at = case when g.state = s.state then s.state_at else clock_timestamp() end,
    failures = g.failures, rejections = g.rejections, batch_limit = g.batch_limit, suspect_hi = g.suspect_hi,
    failing_since = case when g.failures > 0 then coalesce(s.failing_since, clock_timestamp()) end,
    token_refreshed = g.token_refreshed, slow = g.slow,
    delivered_at = case when g.outcome = 'delivered' then clock_timestamp() else s.delivered_at end,
    redrive = s.redrive and (g.letter_id is null or g.letter_state = 'queued' or exists (
      select from pulsefeed.push_dead_letter d
      where d.subscription_id = s.id and d.state = 'queued' and d.id <> g.letter_id
    ))
  from given g
  cross join lateral (
    -- Read here once; the update's own row is compared again below.
    select g.next_hi is not null and o.version = g.version and not o.redrive as on
    from pulsefeed.push_subscription o where o.id = g.id
  ) n
  where s.id = g.id and s.lease_token = g.token and s.lease_until > clock_timestamp()
  returning s.id, n.on as goes_on
), letter as (
  update pulsefeed.push_dead_letter d
  set state = g.letter_state, at = clock_timestamp(), status = coalesce(g.status, d.status)
  from given g join moved m on m.id = g.id
  where d.id = g.letter_id
), dead as (
  insert into pulsefeed.push_dead_letter (subscription_id, seq, resource, key, status, excerpt)
  select g.id, g.dead_seq, g.dead_resource, g.dead_key, g.status, g.excerpt
  from given g join moved m on m.id = g.id
  where g.dead_seq is not null
  on conflict (subscription_id, seq) do update
  set state = 'dead', status = excluded.status, excerpt = excluded.excerpt, at = excluded.at
), logged as (
  insert into pulsefeed.push_attempt
    (subscription_id, worker_id, attempt, after_seq, up_to_seq, events, bytes, outcome, status, ms)
  select g.id, $2, g.attempt, g.after_seq, g.up_to_seq, g.events, g.bytes,
    case when m.id is null then 'fenced' else g.outcome end, g.status, g.ms
  from given g left join moved m on m.id = g.id
), ${unhurried("(select bool_and(outcome = 'delivered') from given)")}
select id, goes_on as "goesOn" from moved, unhurried`,
    values: [JSON.stringify(tries.map(settledRow)), workerId, leaseMs],
  };
}

/** Members without a value are left out: a recordset reads them as null, and most have none. */
function settledRow({ id, token, settlement, attempt, dead, letter, next }: Settled) {
  return {
    id,
    token: String(token),
    outcome: settlement.outcome,
    cursor: String(settlement.cursor),
    thaw: settlement.thaw,
    due_ms: settlement.dueInMs,
    state: settlement.state,
    reason: settlement.reason,
    failures: settlement.failures,
    rejections: settlement.rejections,
    batch_limit: settlement.batchLimit,
    suspect_hi: settlement.suspectHi === undefined ? undefined : String(settlement.suspectHi),
    token_refreshed: settlement.tokenRefreshed,
    slow: settlement.slow,
    attempt: attempt.attempt,
    after_seq: String(attempt.after),
    up_to_seq: String(attempt.upTo),
    events: attempt.events,
    bytes: attempt.bytes,
    status: attempt.status,
    ms: Math.round(attempt.ms),
    dead_seq: dead === undefined ? undefined : String(dead.seq),
    dead_resource: dead?.resource,
    dead_key: dead?.key,
    excerpt: dead?.excerpt,
    letter_id: letter === undefined ? undefined : String(letter.id),
    letter_state: letter?.state,
    next_hi: next === undefined ? undefined : String(next.hi),
    next_count: next?.count,
    version: next?.version,
  };
}

/** A worker that was seen lately. */
export interface AliveWorker {
  readonly id: bigint;
  readonly slots: number;
}

/** Says that a worker lives, under its id or a new one. @returns its id and all that live. */
export async function beat(
  db: Queryable,
  worker: {
    readonly id: bigint | undefined;
    readonly name: string;
    readonly slots: number;
    readonly busy: number;
    readonly delivered: number;
  },
  aliveMs: number,
): Promise<{ readonly id: bigint; readonly alive: readonly AliveWorker[] }> {
  const { id, name, slots, busy, delivered } = worker;
  const updated = await db.query<{ id: bigint }>({
    name: 'push_beat',
    text: `
update pulsefeed.push_worker
set busy = $2, delivered = $3, alive_until = clock_timestamp() + $4 * interval '1 millisecond'
where id = $1 returning id`,
    values: [id ?? null, busy, delivered, aliveMs],
  });
  const own =
    updated[0]?.id ??
    (
      await db.query<{ id: bigint }>({
        text: `
insert into pulsefeed.push_worker (name, slots, alive_until)
values ($1, $2, clock_timestamp() + $3 * interval '1 millisecond') returning id`,
        values: [name, slots, aliveMs],
      })
    )[0]?.id ??
    0n;
  const alive = await db.query<AliveWorker>({
    text: 'select id, slots from pulsefeed.push_worker where alive_until > clock_timestamp() order by id',
  });
  return { id: own, alive };
}

/** Gives up a worker's place; what it holds is free at once. */
export async function leave(db: Queryable, id: bigint): Promise<void> {
  await db.query({ text: 'delete from pulsefeed.push_worker where id = $1', values: [id] });
}

/** Moves cursors over pulses that are not theirs, for subscriptions that nobody is at and that have nothing frozen. */
export async function skipForeign(
  db: Queryable,
  places: readonly { readonly id: string; readonly cursor: bigint; readonly to: bigint }[],
): Promise<void> {
  if (places.length === 0) return;
  await db.query({
    text: `
update pulsefeed.push_subscription s set cursor_seq = p.to_seq
from jsonb_to_recordset($1) as p (id text, cursor bigint, to_seq bigint)
where s.id = p.id and s.cursor_seq = p.cursor and s.batch_hi is null and s.state = 'active' and ${leaseFree}`,
    values: [
      JSON.stringify(
        places.map(({ id, cursor, to }) => ({ id, cursor: String(cursor), to_seq: String(to) })),
      ),
    ],
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

const rowsOfPart = 10_000;
const mostParts = 50;

/** Deletes what is older than the retention, a part at a time. */
export async function sweep(db: Queryable, retentionDays: number): Promise<void> {
  for (let part = 0; part < mostParts; part += 1) {
    const [row] = await db.query<{ deleted: number }>({
      text: `
with gone as (
  delete from pulsefeed.push_attempt
  where ctid = any (array(
    select ctid from pulsefeed.push_attempt where at < now() - $1 * interval '1 day' limit ${rowsOfPart}
  ))
  returning 1
)
select count(*)::int as deleted from gone`,
      values: [retentionDays],
    });
    if ((row?.deleted ?? 0) < rowsOfPart) break;
  }
  await db.query({
    text: `delete from pulsefeed.push_worker where alive_until < now() - interval '1 hour'`,
  });
}

/** Gives a frozen batch up, its cursor moved to `to`, unless somebody is at it. */
export async function thaw(
  db: Queryable,
  place: { readonly id: string; readonly cursor: bigint; readonly hi: bigint; readonly to: bigint },
): Promise<void> {
  await db.query({
    text: `
update pulsefeed.push_subscription s set cursor_seq = $4, batch_hi = null, attempt = 0, unsettled = 0
where s.id = $1 and s.cursor_seq = $2 and s.batch_hi = $3 and s.state = 'active' and ${leaseFree}`,
    values: [place.id, place.cursor, place.hi, place.to],
  });
}

/** Marks a dead letter as overtaken: its pulse is not there for the consumer, and a later one tells of the record. */
export async function supersede(db: Queryable, letterId: bigint): Promise<void> {
  await db.query({
    text: `
with letter as (
  update pulsefeed.push_dead_letter set state = 'superseded', at = now()
  where id = $1 and state = 'queued' returning id, subscription_id
)
update pulsefeed.push_subscription s
set redrive = exists (
  select from pulsefeed.push_dead_letter d
  where d.subscription_id = s.id and d.state = 'queued' and d.id <> l.id
)
from letter l where s.id = l.subscription_id`,
    values: [letterId],
  });
}

/** Stops subscriptions that cannot go on from their cursor without leaving the endpoint with a wrong copy. */
export async function mustReinitialise(db: Queryable, ids: readonly string[], reason: string): Promise<void> {
  await db.query({
    text: `
update pulsefeed.push_subscription s
set state = 'must-reinitialise', reason = $2, state_at = now(), batch_hi = null, attempt = 0, unsettled = 0
where s.id = any ($1) and s.state = 'active' and ${leaseFree}`,
    values: [[...ids], reason],
  });
}
