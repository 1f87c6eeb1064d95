import type { Queryable, Statement } from '../base/db/index.ts';
import { maxKeyLength } from './capture-sql.ts';
import type { LiveTable } from './record-source.ts';

/**
 * Compares a live table with what the log knows and writes the differences to the outbox, chunk by chunk. Each chunk
 * is one statement with one snapshot. A row too many does no harm: the sequencer looks at the live record again.
 */

/** How to walk a table in the order of its key's index. */
export interface LiveWalk {
  readonly resource: string;
  readonly live: LiveTable;
  /** The key column over alias `t`, in its own type. */
  readonly keyColumn: string;
  /** The key's type as SQL, such as `character varying(25)`. */
  readonly keyType: string;
  /** The time of the last change as timestamptz, over alias `t`; absent when the table does not tell. */
  readonly modified?: string;
}

/** What is compared beyond presence. */
export interface ReconcileWindow {
  /**
   * A record counts as modified since its last pulse when its time is later than the pulse's, less this. The pulse's
   * time is known from below only, to the last entry of log_time before it.
   */
  readonly marginMs: number;
  /** Only records modified at or after this moment are compared by time. */
  readonly since?: Date;
}

/** One chunk's result. */
export interface ReconciledChunk {
  /** Rows looked at. */
  readonly seen: number;
  /** Live records that the log does not know. */
  readonly fresh: number;
  /** Records that the log knows and that are not live any more. */
  readonly gone: number;
  /** Known records whose parents or feeds differ from what is stored. */
  readonly moved: number;
  /** Known records modified since their last pulse. */
  readonly modified: number;
  /** Live rows with a key that the feed cannot carry. */
  readonly tooLong: number;
  /** Up to five keys that differ. */
  readonly sample: readonly string[];
  /** Where the next chunk begins; null when this was the last. */
  readonly next: string | null;
}

type Row = { [Name in keyof ReconciledChunk]: ReconciledChunk[Name] };

/**
 * Looks at the next live rows after the key `after` (null: from the first). Rows that share a key stay together.
 * With `write` false nothing is written.
 */
export async function reconcileLive(
  tx: Queryable,
  walk: LiveWalk,
  window: ReconcileWindow,
  chunk: { after: string | null; limit: number; write: boolean },
): Promise<ReconciledChunk> {
  const [row] = await tx.query<Row>(liveStatement(walk, window, chunk));
  return row ?? empty;
}

/** Looks at the next stored records after the key `after` and finds those that are not live any more. */
export async function reconcileStored(
  tx: Queryable,
  walk: LiveWalk,
  chunk: { after: string | null; limit: number; write: boolean },
): Promise<ReconciledChunk> {
  const [row] = await tx.query<Row>(storedStatement(walk, chunk));
  return row ?? empty;
}

const empty: ReconciledChunk = {
  seen: 0,
  fresh: 0,
  gone: 0,
  moved: 0,
  modified: 0,
  tooLong: 0,
  sample: [],
  next: null,
};

/**
 * The earliest moment at which the record's last pulse can have been numbered: later than the last entry of log_time
 * before it, and in any case after the rules were published. Records modified before the log began need no look.
 */
const pulsedSince = `(
  select coalesce(
    (select l.at from pulsefeed.log_time l where l.seq < p.seq order by l.seq desc limit 1),
    (select min(created_at) from pulsefeed.rule_set))
  from (
    -- Of a record whose pulses are all archived only the end of the archive is known, which is later than any of them.
    select coalesce(max(e.seq), (select nullif(archived_to, 0) + 1 from pulsefeed.archive)) as seq
    from pulsefeed.entity_event e
    where e.resource_id = (select id from known) and e.key = c.key
  ) p
  where p.seq is not null
)`;

// Both statements probe an index for each record: the planner is not left to read a whole table for every chunk.
function liveStatement(
  walk: LiveWalk,
  window: ReconcileWindow,
  chunk: { after: string | null; limit: number; write: boolean },
): Statement {
  const { live } = walk;
  const margin = `make_interval(secs => $4::float8)`;
  const modified = `case when c.modified > (select min(created_at) from pulsefeed.rule_set) - ${margin}
        and ($5::timestamptz is null or c.modified >= $5::timestamptz)
        then c.modified > ${pulsedSince} - ${margin} end`;
  const timed = walk.modified !== undefined;
  return {
    text: `
with known as materialized (
  select id from pulsefeed.resource where name = $1
), chunk as materialized (
  select ${walk.keyColumn} as native, ${live.key} as key, ${walk.modified ?? 'null::timestamptz'} as modified,
    ${live.parents} as parents, ${live.feeds} as feeds, ${live.pass} as pass
  from ${live.table} t
  where ${chunk.after === null ? `${walk.keyColumn} is not null and $2::text is null` : `${walk.keyColumn} > $2::text::${walk.keyType}`}
  order by ${walk.keyColumn}
  fetch first ($3::bigint) rows with ties
), judged as materialized (
  select c.key, length(c.key) > ${maxKeyLength} as too_long,
    case when s.key is null then 'fresh'
      when s.parents is distinct from c.parents or s.pass is distinct from c.pass
        or coalesce(s.own, case when s.pass is null then s.vis end, '{}') is distinct from c.feeds then 'moved'
      when ${timed ? modified : 'false'} then 'modified'
    end as finding
  from chunk c
  left join lateral (
    select r.key, r.own, r.pass, r.vis, r.parents from pulsefeed.record_state r
    where r.resource_id = (select id from known) and r.key = c.key
    limit 1
  ) s on true
), different as (
  select key, finding from judged where finding is not null and not too_long
)${chunk.write ? `, ${written(`case finding when 'fresh' then 'i' else 'u' end`)}` : ''}
select (select count(*)::int from chunk) as seen,
  (select count(*)::int from different where finding = 'fresh') as fresh, 0 as gone,
  (select count(*)::int from different where finding = 'moved') as moved,
  (select count(*)::int from different where finding = 'modified') as modified,
  (select count(*)::int from judged where too_long) as "tooLong",
  ${sample},
  case when (select count(*) from chunk) >= $3::bigint
    then (select chunk.native::text from chunk order by chunk.native desc limit 1) end as next`,
    values: [
      walk.resource,
      chunk.after,
      chunk.limit,
      ...(timed ? [window.marginMs / 1_000, window.since ?? null] : []),
    ],
  };
}

function storedStatement(
  walk: LiveWalk,
  chunk: { after: string | null; limit: number; write: boolean },
): Statement {
  return {
    text: `
with known as materialized (
  select id from pulsefeed.resource where name = $1
), chunk as materialized (
  select s.key from pulsefeed.record_state s
  where s.resource_id = (select id from known) and ${chunk.after === null ? '$2::text is null' : 's.key > $2::text'}
  order by s.resource_id, s.key
  limit $3::bigint
), different as materialized (
  select c.key, 'gone' as finding
  from chunk c
  left join lateral (
    select true as present from ${walk.live.table} t where ${walk.live.match('c.key')} limit 1
  ) l on true
  where l.present is null
)${chunk.write ? `, ${written(`'d'`)}` : ''}
select (select count(*)::int from chunk) as seen, 0 as fresh,
  (select count(*)::int from different) as gone, 0 as moved, 0 as modified, 0 as "tooLong",
  ${sample},
  case when (select count(*) from chunk) >= $3::bigint then (select max(key) from chunk) end as next`,
    values: [walk.resource, chunk.after, chunk.limit],
  };
}

const sample = `array(select key from different order by key limit 5) as sample`;

function written(op: string): string {
  return `written as (
  insert into pulsefeed.record_change (op, resource, key)
  select (${op})::"char", $1, key from different
)`;
}
