import type { Statement } from '../base/db/index.ts';
import { type EpochHeadRow, epochHeadColumns } from './epoch-sql.ts';

/**
 * The statements that take changes into a sequencer step and keep its place. Everything stays in the database; each
 * statement returns a few bytes, so that no backend ever blocks on writing to a stopped client while it holds the
 * head.
 */

/** Where a batch keeps its keys, flipped parents and pulses: for one step, or over several. */
export interface BatchTables {
  readonly keys: string;
  readonly flips: string;
  readonly pulses: string;
}
export const stepTables: BatchTables = {
  keys: 'pg_temp.sequencer_key',
  flips: 'pg_temp.sequencer_flip',
  pulses: 'pg_temp.sequencer_pulse',
};
export const largeTables: BatchTables = {
  keys: 'pulsefeed.batch_key',
  flips: 'pulsefeed.batch_flip',
  pulses: 'pulsefeed.batch_pulse',
};

export const createStepTables = `
create temporary table if not exists sequencer_key
  (like pulsefeed.batch_key including indexes including defaults) on commit delete rows;
create temporary table if not exists sequencer_flip
  (like pulsefeed.batch_flip including indexes) on commit delete rows;
create temporary table if not exists sequencer_pulse
  (like pulsefeed.batch_pulse including defaults) on commit delete rows`;

export interface HeadRow extends EpochHeadRow {
  readonly batch_stage: 'taking' | 'expanding' | 'evaluating' | 'numbering' | null;
  readonly batch_xid: string | null;
  readonly rule_version: number;
}

/** Takes the head, or no row when another session holds it: then that one is numbering. */
export const lockHead: Statement = {
  name: 'sequencer_lock',
  text: `
select ${epochHeadColumns}, h.batch_stage, h.batch_xid::text as batch_xid, h.rule_version
from pulsefeed.log_head h
for update skip locked`,
};

/** The fold: one row a key; the last change decides, a mere second look (r, g, w) only where there is no change. */
const fold = `
  select distinct on (r.id, t.key) r.id, t.key,
    bool_or(t.op in ('i', 'u', 'd')) over w, max(t.id) over w,
    case when t.op in ('g', 'w') then 'r'::"char" else t.op end, t.feeds,
    coalesce(array_agg(p.id) filter (where t.op = 'g') over w, '{}'),
    coalesce(array_agg(p.id) filter (where t.op = 'w') over w, '{}')
  from taken t
  join known r on r.name = t.resource
  left join pulsefeed.feed p on t.op in ('g', 'w') and p.name = t.feeds[1]
  where t.op <> 't'
  window w as (partition by r.id, t.key)
  order by r.id, t.key, (t.op in ('r', 'g', 'w')), t.id desc`;

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

/** The columns of a key's row in the order in which `fold` gives them. */
const insertKeys = (tables: BatchTables): string =>
  `insert into ${tables.keys} (resource_id, key, changed, last_id, op, stated, give, take)`;

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
with part as (
  select id from pulsefeed.record_change
  where xid = $2::xid8
  order by id
  limit $1
), taken as (
  delete from pulsefeed.record_change c
  using part
  where c.xid = $2::xid8 and c.id = part.id
  returning c.resource, c.key, c.op, c.feeds, c.id
), ${intern}, folded as (
  ${insertKeys(largeTables)} ${fold}
  on conflict (resource_id, key) do update set
    changed = batch_key.changed or excluded.changed,
    last_id = greatest(batch_key.last_id, excluded.last_id),
    op = case when excluded.op = 'r' then batch_key.op else excluded.op end,
    stated = case when excluded.op = 'r' then batch_key.stated else excluded.stated end,
    give = batch_key.give || excluded.give,
    take = batch_key.take || excluded.take
)
select count(*)::int as taken from taken`,
    values: [limit, xid],
  };
}

/** The entries of one resource in the next part of a seeding run. */
export interface SeedPartRow {
  readonly id: number;
  readonly name: string;
  readonly entries: number;
  /** The last position of the whole part. */
  readonly last: bigint;
}

/**
 * Where the next part of a seeding run ends and what is in it. Positions become visible in their order, so whoever
 * goes on `after` the last one misses none, and need not walk over the entries that were deleted before it: with a
 * million of them and an old snapshot open, that walk would grow with every step.
 */
export function nextSeedPart(limit: number, after: bigint): Statement {
  return {
    text: `
with part as (
  select pos, resource_id from pulsefeed.seed_entry where pos > $2 order by pos limit $1
), counted as (
  select resource_id, count(*)::int as entries, max(pos) as last from part group by resource_id
)
select r.id, r.name, c.entries, max(c.last) over () as last
from counted c
join pulsefeed.resource r on r.id = c.resource_id`,
    values: [limit, after],
  };
}

/**
 * For a large part of a seeding run. Its sorts and hashes take about 20 MB; compiling its statements costs more than
 * it saves.
 */
export const widenSeedStep = `set local work_mem = '32MB'; set local jit = off`;

/**
 * Queues records whose rule with now() is due, and moves the clock that rules are read by. In the step's own
 * transaction: a reader that sees the new clock is followed by the pulses of all that it flips. It moves when changes
 * wait as well, in transactions from `from` on: by an old clock a record that has ended since would be shown.
 */
export function queueDue(limit: number, from: string): Statement {
  return {
    name: 'sequencer_due',
    text: `
with due as (
  select s.resource_id, s.key from pulsefeed.record_state s where s.due_at <= now() order by s.due_at limit $1
), clock as (
  update pulsefeed.log_head
  set rule_clock = greatest(rule_clock, now()), writer = pg_current_xact_id()
  where exists (select from due) or exists (select from pulsefeed.record_change where xid >= $2::xid8)
)
insert into pulsefeed.record_change (op, resource, key)
select 'r', r.name, d.key from due d join pulsefeed.resource r on r.id = d.resource_id`,
    values: [limit, from],
  };
}

/** A step met more than it may do at once: what it has so far becomes the large batch. */
export const keepStep = `
insert into pulsefeed.batch_key select * from pg_temp.sequencer_key;
insert into pulsefeed.batch_flip select * from pg_temp.sequencer_flip;
insert into pulsefeed.batch_pulse select * from pg_temp.sequencer_pulse;
truncate pg_temp.sequencer_key, pg_temp.sequencer_flip, pg_temp.sequencer_pulse`;

export function setStage(stage: HeadRow['batch_stage'], xid: string | null): Statement {
  return {
    text: `update pulsefeed.log_head set batch_stage = $1, batch_xid = $2::xid8, writer = pg_current_xact_id()`,
    values: [stage, xid],
  };
}

/** Turns a truncate into one change for each record that the log knows of; returns how many tables are left. */
export function expandTruncate(limit: number): Statement {
  return {
    text: `
with target as (
  select resource_id, last_id, after_key from pulsefeed.batch_truncate order by resource_id limit 1
), part as (
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
  select resource_id, key, false, last_id, 'd', null, '{}', '{}' from part
  on conflict (resource_id, key) do nothing
), advanced as (
  update pulsefeed.batch_truncate b
  set after_key = (select max(key) from part)
  from target t
  where b.resource_id = t.resource_id and exists (select from part)
), finished as (
  delete from pulsefeed.batch_truncate b
  using target t
  where b.resource_id = t.resource_id and not exists (select from part)
)
select count(*)::int as found from target`,
    values: [limit],
  };
}

/** The resources that still have keys to be looked at: one index probe a resource, however many keys wait. */
export function resourcesInBatch(tables: BatchTables): Statement {
  return {
    text: `
select r.id, r.name from pulsefeed.resource r
where exists (select from ${tables.keys} k where k.resource_id = r.id)`,
  };
}

/** Column list for children found through a flipped parent. */
export const insertChildren = insertKeys;
