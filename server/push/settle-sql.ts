import type { Queryable, Statement } from '../base/db/index.ts';
import { unhurried, type Wanted } from './claim-sql.ts';
import type { Settlement } from './decide.ts';

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
