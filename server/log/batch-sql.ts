import type { Statement } from '../base/db/index.ts';
import type { RecordSource } from './record-source.ts';

/**
 * The statements of one sequencer step. Everything stays in the database; each statement returns a few bytes, so
 * that no backend ever blocks on writing to a stopped client while it holds the head.
 */

/** Where a batch keeps its keys and pulses: temporary tables for one step, tables of the schema for a large batch. */
export interface BatchTables {
  readonly keys: string;
  readonly pulses: string;
}
export const stepTables: BatchTables = { keys: 'pg_temp.sequencer_key', pulses: 'pg_temp.sequencer_pulse' };
export const largeTables: BatchTables = { keys: 'pulsefeed.batch_key', pulses: 'pulsefeed.batch_pulse' };

export const createStepTables = `
create temporary table if not exists sequencer_key (like pulsefeed.batch_key including indexes) on commit delete rows;
create temporary table if not exists sequencer_pulse (like pulsefeed.batch_pulse) on commit delete rows;
alter table sequencer_pulse alter column depth set default 0`;

export interface HeadRow {
  readonly last_seq: bigint;
  readonly batch_stage: 'taking' | 'expanding' | 'evaluating' | 'numbering' | null;
  readonly batch_xid: string | null;
  readonly digest: string | null;
}

/** Takes the head, or no row when another session holds it: then that one is numbering. */
export const lockHead: Statement = {
  name: 'sequencer_lock',
  text: `
select h.last_seq, h.batch_stage, h.batch_xid::text as batch_xid, r.digest
from pulsefeed.log_head h
left join pulsefeed.rule_set r on r.version = h.rule_version
for update of h skip locked`,
};

/** The fold: one row a key; the last change decides, a mere second look (r) only where there is no change. */
const fold = `
  select distinct on (r.id, t.key) r.id as resource_id, t.key,
    bool_or(t.op <> 'r') over w as changed, max(t.id) over w as last_id, t.op, t.feeds as stated
  from taken t
  join known r on r.name = t.resource
  where t.op <> 't'
  window w as (partition by r.id, t.key)
  order by r.id, t.key, (t.op = 'r'), t.id desc`;

/** New resource names get their id in the statement that meets them first: the head is locked, so no race. */
const intern = `
fresh as (
  insert into pulsefeed.resource (name)
  select distinct t.resource from taken t
  where not exists (select from pulsefeed.resource r where r.name = t.resource)
  returning id, name
), known as (
  select id, name from pulsefeed.resource
  union all
  select id, name from fresh
), truncated as (
  insert into pulsefeed.batch_truncate (resource_id, last_id)
  select r.id, max(t.id) from taken t join known r on r.name = t.resource where t.op = 't' group by r.id
  on conflict (resource_id) do update set last_id = excluded.last_id, after_key = null
  returning 1
)`;

const insertKeys = (tables: BatchTables): string =>
  `insert into ${tables.keys} (resource_id, key, changed, last_id, op, stated)`;

export interface TakenRow {
  readonly taken: number;
  readonly truncated: boolean;
  /** Transaction id of the first row beyond the limit, or null when all that was visible was taken. */
  readonly over: string | null;
  /** No row below this transaction id can appear any more: each such transaction had ended in this snapshot. */
  readonly horizon: string;
}

/**
 * Takes whole transactions, oldest first, up to `limit` rows. Ordered by transaction id and not by row id: a
 * transaction that committed before another began has the smaller id, which is all that REALTIME asks, and whole
 * transactions are then one range of the primary key.
 */
export function takeTransactions(limit: number, from: string): Statement {
  return {
    name: 'sequencer_take',
    text: `
with beyond as (
  select xid from pulsefeed.record_change
  where xid >= $2::xid8
  order by xid, id
  offset $1 limit 1
), taken as (
  delete from pulsefeed.record_change
  where xid >= $2::xid8 and xid < coalesce((select xid from beyond), '18446744073709551615'::xid8)
  returning resource, key, op, feeds, id
), ${intern}, folded as (
  ${insertKeys(stepTables)} ${fold}
)
select (select count(*)::int from taken) as taken, exists (select from truncated) as truncated,
  (select xid::text from beyond) as over, pg_snapshot_xmin(pg_current_snapshot())::text as horizon`,
    values: [limit, from],
  };
}

/** Takes up to `limit` rows of one transaction that is too large for a step. */
export function takePart(limit: number, xid: string): Statement {
  return {
    text: `
with picked as (
  select id from pulsefeed.record_change
  where xid = $2::xid8
  order by id
  limit $1
), taken as (
  delete from pulsefeed.record_change c
  using picked
  where c.xid = $2::xid8 and c.id = picked.id
  returning c.resource, c.key, c.op, c.feeds, c.id
), ${intern}, folded as (
  ${insertKeys(largeTables)} ${fold}
  on conflict (resource_id, key) do update set
    changed = batch_key.changed or excluded.changed,
    last_id = greatest(batch_key.last_id, excluded.last_id),
    op = case when excluded.op = 'r' then batch_key.op else excluded.op end,
    stated = case when excluded.op = 'r' then batch_key.stated else excluded.stated end
)
select count(*)::int as taken from taken`,
    values: [limit, xid],
  };
}

export interface TakenSeedRow {
  readonly taken: number;
  /** The last position taken, or null when nothing was left. */
  readonly last: bigint | null;
}

/**
 * Takes the next records of a seeding run, leaving out those that have their event already. Positions become
 * visible in their order, so whoever goes on `after` the last one misses none and need not walk over the entries
 * that were deleted before it: with a million of them and an old snapshot open, that walk would grow with every step.
 */
export function takeSeedEntries(limit: number, after: bigint): Statement {
  return {
    name: 'sequencer_take_seed',
    text: `
with beyond as (
  select pos from pulsefeed.seed_entry
  where pos > $2::bigint
  order by pos
  offset $1 limit 1
), taken as (
  delete from pulsefeed.seed_entry
  where pos > $2::bigint and pos < coalesce((select pos from beyond), 9223372036854775807)
  returning pos, resource_id, key
), lined as (
  ${insertKeys(stepTables)}
  select resource_id, key, true, min(pos), 'i', null from taken e
  where not exists (select from pulsefeed.record_state s where s.resource_id = e.resource_id and s.key = e.key)
  group by resource_id, key
)
select count(*)::int as taken, max(pos) as last from taken`,
    values: [limit, after],
  };
}

/**
 * Before a large chunk of seeding is evaluated: without statistics on its keys the planner expects a few hundred.
 * Sorts and hashes of a chunk take about 20 MB.
 */
export const prepareSeedChunk = `
set local work_mem = '32MB';
set local jit = off;
analyze pg_temp.sequencer_key (resource_id)`;

/** A step met more than it may do at once: what it has so far becomes the large batch. */
export const keepStep = `
insert into pulsefeed.batch_key select * from pg_temp.sequencer_key;
insert into pulsefeed.batch_pulse select * from pg_temp.sequencer_pulse;
truncate pg_temp.sequencer_key, pg_temp.sequencer_pulse`;

export function setStage(stage: HeadRow['batch_stage'], xid: string | null): Statement {
  return {
    text: `update pulsefeed.log_head set batch_stage = $1, batch_xid = $2::xid8, writer = pg_current_xact_id()`,
    values: [stage, xid],
  };
}

/** Turns a truncate into one change for each record that the log knows of; returns how many were found. */
export function expandTruncate(limit: number): Statement {
  return {
    text: `
with target as (
  select resource_id, last_id, after_key from pulsefeed.batch_truncate order by resource_id limit 1
), picked as (
  select s.resource_id, s.key, t.last_id
  from target t
  join lateral (
    select resource_id, key from pulsefeed.record_state r
    where r.resource_id = t.resource_id and (t.after_key is null or r.key > t.after_key)
    order by r.resource_id, r.key
    limit $1
  ) s on true
), added as (
  ${insertKeys(largeTables)}
  select resource_id, key, true, last_id, 'd', null from picked
  on conflict (resource_id, key) do nothing
), advanced as (
  update pulsefeed.batch_truncate b
  set after_key = (select max(key) from picked)
  from target t
  where b.resource_id = t.resource_id and exists (select from picked)
), finished as (
  delete from pulsefeed.batch_truncate b
  using target t
  where b.resource_id = t.resource_id and not exists (select from picked)
)
select count(*)::int as found from target`,
    values: [limit],
  };
}

/** The resources that still have keys to be looked at. */
export function resourcesInBatch(tables: BatchTables): Statement {
  // A loose scan: one index probe a resource, however many keys wait.
  return {
    text: `
select r.id, r.name from pulsefeed.resource r
where exists (select from ${tables.keys} k where k.resource_id = r.id)`,
  };
}

/**
 * Looks at keys of one resource: reads the live rows, compares with what is stored, stores the new state and lines
 * up the half-pulses. Up to those that may see the record now, if it changed or entered; down to those that may
 * not any more (AUDIENCE).
 *
 * With `seeding` the keys are known to have no state, pulses are lined up by `last_id` alone, and the planner may
 * choose how to meet the live rows: tens of thousands of keys in the order of their modification are spread over the
 * whole table, and probing them one by one took 16 us each where one scan took 4.
 */
export function evaluate(
  source: RecordSource,
  resourceId: number,
  tables: BatchTables,
  limit: number,
  seeding = false,
): Statement {
  const chunk =
    tables === stepTables
      ? ''
      : `and key in (select key from ${tables.keys} where resource_id = $1 order by key limit ${limit})`;
  const selfParent = source.selfParentSlot === undefined ? 'null' : `(parents)[${source.selfParentSlot}]`;
  const storedSelfParent =
    source.selfParentSlot === undefined ? 'null' : `(stored_parents)[${source.selfParentSlot}]`;
  return {
    text: `
with chunk as (
  delete from ${tables.keys}
  where resource_id = $1 ${chunk}
  returning key, changed, last_id, op, stated
), facts as materialized (
  select ${seeding ? 'distinct on (c.key)' : ''} c.key, c.last_id, s.key is not null as stored, coalesce(s.vis, '{}') as before, s.own as stored_own,
    s.parents as stored_parents, ${presentColumns(source)},
    c.changed or (s.key is not null and s.parents is distinct from ${parentsNow(source)}) as changed
  from chunk c
  left join pulsefeed.record_state s on ${seeding ? 'false' : 's.resource_id = $1 and s.key = c.key'}
  ${liveJoin(source, seeding)}
), written as (
  insert into pulsefeed.record_state (resource_id, key, vis, parents)
  select $1, key, vis, parents from facts
  where present and (not stored or before <> vis or stored_own is not null or stored_parents is distinct from parents)
  ${seeding ? '' : 'on conflict (resource_id, key) do update set own = null, vis = excluded.vis, parents = excluded.parents'}
), removed as (
  delete from pulsefeed.record_state s
  using facts f
  where s.resource_id = $1 and s.key = f.key and f.stored and not f.present
), halves as (
  select 0 as phase, $2::int as ord, last_id, key, ${selfParent} as self_parent,
    case when changed or before = '{}' then vis else pulsefeed.feeds_minus(vis, before) end as feeds
  from facts
  where vis <> '{}' and (changed or vis <> before)
  union all
  select 1, - $2::int, last_id, key, coalesce(${storedSelfParent}, ${selfParent}),
    case when vis = '{}' then before else pulsefeed.feeds_minus(before, vis) end
  from facts
  where before <> '{}' and vis <> before
)
insert into ${tables.pulses} (phase, ord, last_id, resource_id, key, feeds, self_parent)
select phase, ord, last_id, $1, key, feeds, self_parent from halves
where feeds <> '{}'`,
    values: [resourceId, seeding ? 0 : source.rank],
  };
}

/** A live row decides for itself; without a table the change says whether the record is there and who sees it. */
function presentColumns(source: RecordSource): string {
  if (source.live !== undefined) {
    return `l.present is true as present, coalesce(l.feeds, '{}') as vis, l.parents as parents`;
  }
  return `
    case when c.op = 'r' then s.key is not null else c.op <> 'd' end as present,
    case when c.op = 'r' then coalesce(s.vis, '{}')
      when c.op = 'd' then '{}'
      when c.stated is null then '{1}'
      else coalesce((select array_agg(f.id order by f.id) from pulsefeed.feed f where f.name = any (c.stated)), '{}')
    end as vis,
    s.parents as parents`;
}

function parentsNow(source: RecordSource): string {
  return source.live === undefined ? 's.parents' : 'l.parents';
}

/** One probe of the key's index a record: the planner is not left to read the whole table for a large batch. */
function liveJoin(source: RecordSource, seeding: boolean): string {
  if (source.live === undefined) return '';
  return `left join lateral (
    select true as present, ${source.live.feeds} as feeds, ${source.live.parents} as parents
    from ${source.live.table} t
    where ${source.live.match('c.key')}
    ${seeding ? '' : 'limit 1'}
  ) l on true
  ${seeding ? 'order by c.key' : ''}`;
}

/**
 * Parents and children of one resource, such as a main office and its branches: ups parents first, downs children
 * first. Only chains inside the batch matter; a cycle ends at 64 and is then ordered by key.
 */
export function setDepths(resourceId: number, tables: BatchTables): Statement {
  return {
    text: `
with recursive chain as (
  select p.phase, p.key, 0 as depth from ${tables.pulses} p
  where p.resource_id = $1
    and (p.self_parent is null or p.self_parent = p.key or not exists (
      select from ${tables.pulses} a where a.resource_id = $1 and a.phase = p.phase and a.key = p.self_parent
    ))
  union all
  select p.phase, p.key, c.depth + 1 from chain c
  join ${tables.pulses} p on p.resource_id = $1 and p.phase = c.phase and p.self_parent = c.key and p.key <> c.key
  where c.depth < 64
), deepest as (
  select phase, key, max(depth) as depth from chain where depth > 0 group by phase, key
)
update ${tables.pulses} p
set depth = case when d.phase = 0 then d.depth else - d.depth end
from deepest d
where p.resource_id = $1 and p.phase = d.phase and p.key = d.key`,
    values: [resourceId],
  };
}

export interface NumberedRow {
  readonly pulses: number;
  readonly head: bigint | null;
}

/**
 * Numbers the lined-up pulses from `first` on, in the order that the design fixes: ups before downs, parents before
 * children for ups and after them for downs, then the last outbox id. Interns new audiences, moves the head, wakes
 * the waiting once.
 */
export function numberPulses(tables: BatchTables, first: bigint, limit: number): Statement {
  const order = 'phase, ord, depth, last_id, resource_id, key';
  const chunk =
    tables === stepTables
      ? `select * from ${tables.pulses}`
      : `delete from ${tables.pulses} where (${order}) in (select ${order} from ${tables.pulses} order by ${order} limit ${limit}) returning *`;
  return {
    ...(tables === stepTables ? { name: 'sequencer_number' } : {}),
    text: `
with chunk as (
  ${chunk}
), wanted as (
  select feeds, md5(array_to_string(feeds, ',')) as digest from chunk group by feeds
), fresh as (
  insert into pulsefeed.audience (feeds, digest)
  select feeds, digest from wanted w
  where not exists (select from pulsefeed.audience a where a.digest = w.digest)
  returning id, feeds
), fresh_feeds as (
  insert into pulsefeed.audience_feed (feed_id, audience_id)
  select unnest(feeds), id from fresh
), known as (
  select a.id, w.feeds from wanted w join pulsefeed.audience a on a.digest = w.digest
  union all
  select id, feeds from fresh
), written as (
  insert into pulsefeed.entity_event (seq, audience_id, resource_id, key)
  select $1::bigint - 1 + row_number() over (order by ${order}), k.id, c.resource_id, c.key
  from chunk c
  join known k on k.feeds = c.feeds
  order by 1
  returning seq
), last as (
  select max(seq) as head, count(*)::int as pulses from written
), moved as (
  update pulsefeed.log_head
  set last_seq = last.head, writer = pg_current_xact_id()
  from last
  where last.head is not null
), timed as (
  insert into pulsefeed.log_time (seq, at)
  select head, now() from last
  where head is not null and not exists (select from pulsefeed.log_time where at > now() - interval '1 second')
)
select pulses, head, case when head is not null then pg_notify('pulsefeed_head', head::text) end from last`,
    values: [first],
  };
}
