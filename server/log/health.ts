import type { Queryable } from '../base/db/index.ts';
import type { LiveWalk } from './reconcile.ts';

/** What the log tells about itself, for whoever looks after it. Reads only; takes no lock. */
export interface LogHealth {
  readonly head: bigint;
  /** Digest of the rules that numbers are given under; null before the first were published. */
  readonly digest: string | null;
  readonly ruleVersion: number;
  /** Unnumbered changes, counted up to `pendingCap`. */
  readonly pending: number;
  /** How long the oldest of them has waited; null when none waits. */
  readonly oldestMs: number | null;
  /** Stage of the large batch that is being worked off, or null. */
  readonly batchStage: string | null;
  /** Changes whenever a step gets on with anything. */
  readonly progress: string;
  /** Sessions that hold or ask for the head's row, with the age of their transaction. */
  readonly holders: readonly HeadHolder[];
}

export interface HeadHolder {
  readonly pid: number;
  readonly application: string;
  readonly state: string | null;
  readonly forMs: number | null;
}

/** Beyond this the number of waiting changes says no more than "very many". */
export const pendingCap = 100_000;

interface HealthRow {
  readonly head: bigint;
  readonly digest: string | null;
  readonly rule_version: number;
  readonly pending: number;
  readonly oldest_ms: number | null;
  readonly batch_stage: string | null;
  readonly progress: string;
}

/** Reads where the log stands. */
export async function readLogHealth(db: Queryable): Promise<LogHealth> {
  const [row] = await db.query<HealthRow>({
    text: `
select h.last_seq as head, r.digest, h.rule_version, h.batch_stage,
  (select count(*)::int from (select from pulsefeed.record_change limit ${pendingCap}) c) as pending,
  (select (extract(epoch from clock_timestamp() - min(at)) * 1000)::float8
   from (select at from pulsefeed.record_change order by xid, id limit 1) c) as oldest_ms,
  concat_ws(' ', h.last_seq, h.batch_stage, h.xmin, (select min(xid) from pulsefeed.record_change),
    (select min(id) from pulsefeed.record_change c where c.xid = h.batch_xid),
    case when h.batch_stage is not null then (select count(*) from pulsefeed.batch_key) end,
    case when h.batch_stage is not null then (select count(*) from pulsefeed.batch_pulse) end) as progress
from pulsefeed.log_head h
left join pulsefeed.rule_set r on r.version = h.rule_version`,
  });
  const holders = await db.query<{
    pid: number;
    application: string;
    state: string | null;
    for_ms: number | null;
  }>({
    text: `
select distinct l.pid, coalesce(a.application_name, '') as application, a.state,
  (extract(epoch from clock_timestamp() - a.xact_start) * 1000)::float8 as for_ms
from pg_catalog.pg_locks l
left join pg_catalog.pg_stat_activity a on a.pid = l.pid
where l.relation = 'pulsefeed.log_head'::regclass and l.mode in ('RowShareLock', 'RowExclusiveLock')
  and l.pid <> pg_backend_pid()`,
  });
  return {
    head: row?.head ?? 0n,
    digest: row?.digest ?? null,
    ruleVersion: row?.rule_version ?? 0,
    pending: row?.pending ?? 0,
    oldestMs: row?.oldest_ms ?? null,
    batchStage: row?.batch_stage ?? null,
    progress: row?.progress ?? '',
    holders: holders.map(({ pid, application, state, for_ms }) => ({
      pid,
      application,
      state,
      forMs: for_ms,
    })),
  };
}

/** How many records the log knows of each resource. */
export async function storedCounts(db: Queryable): Promise<ReadonlyMap<string, number>> {
  const rows = await db.query<{ name: string; records: number }>({
    text: `
select r.name, count(*)::int as records
from pulsefeed.record_state s
join pulsefeed.resource r on r.id = s.resource_id
group by r.name`,
  });
  return new Map(rows.map(({ name, records }) => [name, records]));
}

/** Looks at a random part of a table's pages, in percent: how many live rows there, and how many have no state. */
export async function sampleUnknown(
  db: Queryable,
  walk: LiveWalk,
  percent: number,
): Promise<{ seen: number; unknown: number }> {
  const [row] = await db.query<{ seen: number; unknown: number }>({
    text: `
with chunk as materialized (
  select ${walk.live.key} as key
  from ${walk.live.table} t tablesample system (${Math.min(100, Math.max(0.0001, percent))})
  where ${walk.keyColumn} is not null
  limit 10000
)
select count(*)::int as seen, count(*) filter (where s.key is null)::int as unknown
from chunk c
left join pulsefeed.record_state s
  on s.key = c.key and s.resource_id = (select id from pulsefeed.resource where name = $1)`,
    values: [walk.resource],
  });
  return row ?? { seen: 0, unknown: 0 };
}
