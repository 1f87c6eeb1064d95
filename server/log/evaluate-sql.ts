import type { Statement } from '../base/db/index.ts';
import { type BatchTables, insertChildren, stepTables } from './batch-sql.ts';
import { toldSql, unseenHistory } from './history-sql.ts';
import type { FollowedParent, RecordSource } from './record-source.ts';

/** A part of a seeding run: the entries at positions above `after`, up to `last`. */
export interface SeedRange {
  readonly after: bigint;
  readonly last: bigint;
  /**
   * Whether some may have been numbered since they were lined up. False fails with a unique violation (23505) when one
   * was, and saves the look at what is stored of each, a tenth of the time.
   */
  readonly mayBeStored: boolean;
}

/** How one evaluation is to be done. */
export interface EvaluateOptions {
  readonly tables: BatchTables;
  /** Keys at a time, for the tables of a large batch. */
  readonly limit: number;
  /** A part of a seeding run: takes its keys from there and lines pulses up by their position alone. */
  readonly seeding?: SeedRange;
  /** The relations along which other resources follow this one: its flips must reach their records. */
  readonly followers: readonly Follower[];
  /** `integer[]` as SQL, for a resource without a table whose change states no feeds. */
  readonly unstated: string;
}

/**
 * Looks at keys of one resource: reads the live rows, folds their own feeds over the stored parents, compares with
 * what is stored, stores the new state and lines up the half-pulses: up to those that may see the record now, if it
 * changed or entered; down to those that may not any more (AUDIENCE). Returns how many records flipped.
 */
export function evaluate(source: RecordSource, resourceId: number, options: EvaluateOptions): Statement {
  const { tables, seeding } = options;
  const limited =
    tables === stepTables
      ? ''
      : `and key in (select key from ${tables.keys} where resource_id = $1 order by key limit ${options.limit})`;
  const relations = options.followers.map(({ child, slot }) => `(${quoteText(child)}, ${slot})`).join(', ');
  const flipped =
    relations === ''
      ? ''
      : `, flipped as (
  insert into ${tables.flips} (child_resource, slot, parent_key, last_id)
  select r.child, r.slot, f.key, f.last_id
  from folded f
  cross join (values ${relations}) r (child, slot)
  where f.vis <> f.before
  returning 1
)`;
  const chunk =
    seeding === undefined
      ? `delete from ${tables.keys}
  where resource_id = $1 ${limited}
  returning key, changed, last_id, op, stated, give, take`
      : seedChunk;
  // Those that have their event already are passed over, and the others are met in the order of the index.
  const passedOver = seeding === undefined ? '' : 'where s.found is not true order by c.key, c.last_id';
  const settles = seeding === undefined && source.live !== undefined;
  const keeps = seeding === undefined && source.history === true;
  return {
    text: `
with chunk as (
  ${chunk}
), ${settles ? 'met' : 'facts'} as materialized (
  select ${seeding === undefined ? '' : 'distinct on (c.key)'} c.key, c.last_id, c.give, c.take, s.key is not null as stored, coalesce(s.vis, '{}') as before,
    s.own as stored_own, s.pass as stored_pass, s.parents as stored_parents, s.due_at as stored_due_at,
    ${factColumns(source, options)},
    c.changed or (c.op <> 'f' and s.key is not null and s.parents is distinct from ${source.live === undefined ? 's.parents' : 'l.parents'}) as changed${settles ? contradicted : ''}
  from chunk c
  ${seeding === undefined ? storedJoin : seeding.mayBeStored ? probeStored : neverStored}
  ${liveJoin(source, seeding !== undefined)}
  ${passedOver}
)${settles ? settledFacts(source) : ''}, ${foldedRows(source)}, written as (
  insert into pulsefeed.record_state (resource_id, key, own, pass, vis, parents, due_at)
  select $1, key, case when pass is null then null else own end, pass, vis, parents, due_at from folded
  where present and (not stored or before <> vis or stored_pass is distinct from pass
    or (pass is not null and stored_own is distinct from own)
    or stored_parents is distinct from parents or stored_due_at is distinct from due_at)
  ${seeding === undefined ? overwrite : ''}
), removed as (
  delete from pulsefeed.record_state s
  using folded f
  where s.resource_id = $1 and s.key = f.key and f.stored and not f.present
), halves as (
  ${seeding === undefined ? changeHalves(source) : seedHalves(source)}
), lined as (
  insert into ${tables.pulses} (phase, ord, last_id, resource_id, key, feeds, self_parent${keeps ? ', told' : ''})
  select phase, ord, last_id, $1, key, feeds, self_parent${keeps ? `, ${toldSql}` : ''} from halves
  where feeds <> '{}'
)${flipped}${keeps ? unseenHistory(source.resource) : ''}
select ${relations === '' ? '0' : '(select count(*)::int from flipped)'} as flips`,
    values: [resourceId, ...(seeding === undefined ? [source.rank] : [0, seeding.after, seeding.last])],
  };
}

/** While the log belongs to everyone, what a change states of feeds means nothing yet. */
const noFeeds = `not exists (select from pulsefeed.feed where id > 1 and name not like '~%')`;

/** The table says that the record is gone, the change that it is there: somebody deleted it meanwhile. */
const contradicted = `,
    c.op in ('i', 'u', 'r') and s.key is not null and l.present is not true and c.give = '{}' and c.take = '{}'
      as contradicted`;

/**
 * Leaves a contradicted change out when a later one of the record waits in the outbox, which then decides, in its turn
 * and in its order. Else a parent that went while a change of it was being looked at would go before its children,
 * whose rows come with the later one. The outbox is read only when there is a contradiction.
 */
function settledFacts({ resource }: RecordSource): string {
  return `, waiting as materialized (
  select distinct w.key from pulsefeed.record_change w
  where (select exists (select from met where contradicted)) and w.resource = ${quoteText(resource)}
), facts as materialized (
  select * from met
  where not (contradicted and (key in (select key from waiting) or '' in (select key from waiting)))
)`;
}

/** Up to those that may see the record now, down to those that may not any more, with what private feeds are told. */
function changeHalves(source: RecordSource): string {
  const selfParent = selfParentOf(source, 'parents');
  const facts = source.history === true ? 'stored, present, before, vis, ' : '';
  return `select 0 as phase, $2::int as ord, last_id, key, ${selfParent} as self_parent,
    ${facts}${union('give', `case when changed or before = '{}' then vis when vis = before then '{}' else pulsefeed.feeds_minus(vis, before) end`)} as feeds
  from folded
  where give <> '{}' or (vis <> '{}' and (changed or vis <> before))
  union all
  select 1, - $2::int, last_id, key, coalesce(${selfParentOf(source, 'stored_parents')}, ${selfParent}),
    ${facts}${union('take', `case when vis = '{}' then before when vis = before then '{}' else pulsefeed.feeds_minus(before, vis) end`)}
  from folded
  where take <> '{}' or (before <> '{}' and vis <> before)`;
}

/** A record that is seeded was seen by nobody before. Written out, since the general form took a tenth of the time. */
function seedHalves(source: RecordSource): string {
  return `select 0 as phase, $2::int as ord, last_id, key, ${selfParentOf(source, 'parents')} as self_parent, vis as feeds
  from folded`;
}

function selfParentOf(source: RecordSource, parents: string): string {
  return source.selfParentSlot === undefined ? 'null' : `(${parents})[${source.selfParentSlot}]`;
}

/** Hardly a change has private feeds to tell, and calling the function for each took as long as all the rest. */
function union(given: string, feeds: string): string {
  return `case when ${given} = '{}' then ${feeds} else pulsefeed.feeds_union(${given}, ${feeds}) end`;
}

const storedJoin = 'left join pulsefeed.record_state s on s.resource_id = $1 and s.key = c.key';

/**
 * While a resource is seeded, statistics may say that it has no record: a planner that believes so compares each key
 * of the part with each record. And a test for null would have it expect that hardly a key is left.
 */
const probeStored = `left join lateral (
    select r.*, true as found from pulsefeed.record_state r where r.resource_id = $1 and r.key = c.key limit 1
  ) s on true`;

const neverStored =
  'left join (select r.*, true as found from pulsefeed.record_state r where false) s on true';

const overwrite = `on conflict (resource_id, key) do update set own = excluded.own, pass = excluded.pass,
    vis = excluded.vis, parents = excluded.parents, due_at = excluded.due_at`;

/** Straight from where seeding lined them up: a hop over the step's own tables took a sixth of the time. */
const seedChunk = `delete from pulsefeed.seed_entry
  where pos > $3 and pos <= $4 and resource_id = $1
  returning key, true as changed, pos as last_id, 'i'::"char" as op, null::text[] as stated,
    '{}'::integer[] as give, '{}'::integer[] as take`;

/**
 * What is known of a record now. A live row decides for itself; without a table the change says whether the record is
 * there and who sees it; a child found through its parent (op f) is as it is stored.
 */
function factColumns(source: RecordSource, options: EvaluateOptions): string {
  const storedOwn = `coalesce(s.own, case when s.pass is null then s.vis end, '{}')`;
  if (source.live !== undefined) {
    return `
    case when c.op = 'f' then s.key is not null else l.present is true end as present,
    case when c.op = 'f' then ${storedOwn} else coalesce(l.feeds, '{}') end as own,
    case when c.op = 'f' then s.pass else l.pass end as pass,
    case when c.op = 'f' then s.parents else l.parents end as parents,
    case when c.op = 'f' then s.due_at else l.due_at end as due_at`;
  }
  return `
    case when c.op in ('r', 'f') then s.key is not null else c.op <> 'd' end as present,
    case when c.op in ('r', 'f') then ${storedOwn}
      when c.op = 'd' then '{}'
      when c.stated is null or ${noFeeds} then ${options.unstated}
      else coalesce((select array_agg(f.id order by f.id) from pulsefeed.feed f where f.name = any (c.stated)), '{}')
    end as own,
    s.pass as pass, s.parents as parents, s.due_at as due_at`;
}

/**
 * One probe of the key's index a record: the planner is not left to read the whole table for a large batch. Only for
 * seeding it may choose: a part is tens of thousands of records from all over the table, and probing for them took
 * 16 us each where a scan took 4.
 */
function liveJoin(source: RecordSource, seeding: boolean): string {
  const { live } = source;
  if (live === undefined) return '';
  return `left join lateral (
    select true as present, ${live.feeds} as feeds, ${live.pass} as pass, ${live.parents} as parents,
      ${live.dueAt} as due_at
    from ${live.table} t
    where c.op <> 'f' and ${live.match('c.key')}
    ${seeding ? '' : 'limit 1'}
  ) l on true`;
}

/**
 * Own feeds folded over the parents' stored ones. Distinct combinations are folded once: a thousand photos of one
 * listing are one fold.
 */
function foldedRows(source: RecordSource): string {
  if (source.follows.length === 0) return 'folded as materialized (select *, own as vis from facts)';
  const joins = source.follows.map(({ resource, slot }, n) => {
    const parentId = `(select id from pulsefeed.resource where name = ${quoteText(resource)})`;
    return `left join pulsefeed.record_state p${n} on p${n}.resource_id = ${parentId} and p${n}.key = f.parents[${slot}]`;
  });
  const parentVis = source.follows.map((_, n) => `coalesce(p${n}.vis, '{}') as v${n}`);
  const names = source.follows.map((_, n) => `v${n}`);
  return `placed as materialized (
  select f.*, ${parentVis.join(', ')}, coalesce(f.pass, '{}') as passing
  from facts f
  ${joins.join('\n  ')}
), folds as materialized (
  select own, passing, ${names.join(', ')}, ${source.follows.reduce(foldStep, 'own')} as vis
  from (select distinct own, passing, ${names.join(', ')} from placed where present) d
), folded as materialized (
  select p.*, coalesce(o.vis, '{}') as vis
  from placed p
  left join folds o using (own, passing, ${names.join(', ')})
)`;
}

function foldStep(folded: string, parent: FollowedParent, n: number): string {
  const definitions = `'{${parent.definitions.join(',')}}'::integer[]`;
  const pass = `array(select x from unnest(passing) x where x = any (${definitions}))`;
  return `pulsefeed.feeds_union(${folded}, pulsefeed.feeds_passing(${pass}, v${n}))`;
}

/** Text as an SQL literal; ResourceNames from the configuration only. */
function quoteText(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}

/** A relation along which visibility is followed. */
export interface Follower {
  readonly child: string;
  readonly slot: number;
}

/**
 * Finds children of flipped parents through the parent that is stored with them, whatever their live row says now, and
 * lines them up to be folded again: at most `limit`, going on where the last call ended. Returns how many were met;
 * fewer than `limit` means that no flip of this relation is left.
 */
export function expandFlips({ child, slot }: Follower, tables: BatchTables, limit: number): Statement {
  return {
    text: `
with found as (
  select f.parent_key, f.last_id, s.resource_id, s.key
  from (
    select parent_key, last_id, after_key from ${tables.flips}
    where child_resource = $1 and slot = ${slot}
    order by parent_key
    limit $2
  ) f
  cross join lateral (
    select r.resource_id, r.key from pulsefeed.record_state r
    where r.resource_id = (select id from pulsefeed.resource where name = $1)
      and r.parents[${slot}] = f.parent_key and r.pass is not null
      and (f.after_key is null or r.key > f.after_key)
    order by r.key
    limit $2
  ) s
  order by f.parent_key, s.key
  limit $2
), met as (
  select count(*)::int as met, max(parent_key) as last_parent from found
), added as (
  ${insertChildren(tables)}
  select resource_id, key, false, max(last_id), 'f', null, '{}', '{}' from found group by resource_id, key
  on conflict (resource_id, key) do nothing
), advanced as (
  update ${tables.flips} f
  set after_key = (select max(key) from found where parent_key = met.last_parent)
  from met
  where f.child_resource = $1 and f.slot = ${slot} and met.met = $2 and f.parent_key = met.last_parent
), finished as (
  delete from ${tables.flips} f
  using met
  where f.child_resource = $1 and f.slot = ${slot} and (met.met < $2 or f.parent_key < met.last_parent)
)
select met from met`,
    values: [child, limit],
  };
}
