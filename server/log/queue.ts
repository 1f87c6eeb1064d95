import type { Statement } from '../base/db/index.ts';

/** How far a walk over the log's records has come. */
export interface WalkPlace {
  readonly resourceId: number | null;
  readonly key: string | null;
}

/** What one part of a walk did; `end` is null when there was nothing left. */
export interface WalkPart {
  readonly queued: number;
  readonly end_resource: number | null;
  readonly end_key: string | null;
}

const after = '($1::smallint is null or (resource_id, key) > ($1::smallint, $2::text))';
const part = `
select (select count(*)::int from queued) as queued,
  (select resource_id from part order by resource_id desc, key desc limit 1) as end_resource,
  (select key from part order by resource_id desc, key desc limit 1) as end_key`;

/** Queues a second look at the next `limit` records that the log knows. */
export function queueAll({ resourceId, key }: WalkPlace, limit: number): Statement {
  return {
    text: `
with part as (
  select resource_id, key from pulsefeed.record_state
  where ${after}
  order by resource_id, key
  limit $3
), queued as (
  insert into pulsefeed.record_change (op, resource, key)
  select 'r', r.name, p.key from part p join pulsefeed.resource r on r.id = p.resource_id
  returning 1
)${part}`,
    values: [resourceId, key, limit],
  };
}

/**
 * Of the next `limit` records, queues those that are in one of the feeds gained and were in none that was held
 * before, to be told to one private feed.
 */
export function queueGained(
  { resourceId, key }: WalkPlace,
  gained: readonly number[],
  heldBefore: readonly number[],
  privateFeed: string,
  limit: number,
): Statement {
  return {
    text: `
with part as (
  select resource_id, key, vis from pulsefeed.record_state
  where ${after}
  order by resource_id, key
  limit $3
), queued as (
  insert into pulsefeed.record_change (op, resource, key, feeds)
  select 'g', r.name, p.key, array[$6::text] from part p join pulsefeed.resource r on r.id = p.resource_id
  where p.vis && $4::integer[] and not p.vis && $5::integer[]
  returning 1
)${part}`,
    values: [resourceId, key, limit, [...gained], [...heldBefore], privateFeed],
  };
}

/**
 * Of the records behind the next `limit` pulses, queues those that have any retained pulse in a feed that was lost:
 * also such as left that feed long ago, since the consumer may be behind, and such as a feed still held shows, since
 * their last pulses may have been for the lost feed alone.
 */
export function queueLost(
  { resourceId, key }: WalkPlace,
  lost: readonly number[],
  privateFeed: string,
  limit: number,
): Statement {
  return {
    text: `
with last as (
  select (array_agg(resource_id order by resource_id desc, key desc))[1] as r,
    (array_agg(key order by resource_id desc, key desc))[1] as k
  from (
    select resource_id, key from pulsefeed.entity_event
    where ${after}
    order by resource_id, key
    limit $3
  ) e
), part as (
  select e.resource_id, e.key, bool_or(a.feeds && $4::integer[]) as lost
  from last, pulsefeed.entity_event e
  join pulsefeed.audience a on a.id = e.audience_id
  where ${after.replaceAll('resource_id, key', 'e.resource_id, e.key')}
    and (e.resource_id, e.key) <= (last.r, last.k)
  group by e.resource_id, e.key
), queued as (
  insert into pulsefeed.record_change (op, resource, key, feeds)
  select 'w', r.name, p.key, array[$5::text] from part p join pulsefeed.resource r on r.id = p.resource_id
  where p.lost
  returning 1
)${part}`,
    values: [resourceId, key, limit, [...lost], privateFeed],
  };
}

/** Queues a second look at records of one table that a condition over alias `t` finds; returns how many. */
export function queueMatching(
  resource: string,
  table: string,
  keySql: string,
  condition: string,
  values: readonly unknown[],
): Statement {
  return {
    text: `
with queued as (
  insert into pulsefeed.record_change (op, resource, key)
  select 'r', '${resource.replaceAll("'", "''")}', ${keySql} from ${table} t where ${condition}
  returning 1
)
select count(*)::int as queued from queued`,
    values,
  };
}

/** How many changes wait, counted up to `most`: walks pause while the sequencer has enough to do. */
export function waitingChanges(most: number): Statement {
  return {
    text: 'select count(*)::int as waiting from (select from pulsefeed.record_change limit $1) w',
    values: [most],
  };
}
