import type { Statement } from '../base/db/index.ts';
import { type BatchTables, stepTables } from './batch-sql.ts';
import { numberedHistory } from './history-sql.ts';

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

const batchOrder = 'phase, ord, depth, last_id, resource_id, key';
/** All that comes before it is the same for each, and a sort whose first columns are alike takes three times as long. */
const seedOrder = 'last_id';

/** What is particular about a part that is numbered. */
export interface NumberingParts {
  /** It is of a seeding run alone, ordered by position. */
  readonly seedsOnly?: boolean;
  /** Resources whose changes have history rows. */
  readonly history?: readonly string[];
}

/**
 * Numbers the lined-up pulses from `first` on, in the order that the design fixes: ups before downs, parents before
 * children for ups and after them for downs, then the last outbox id. Interns new audiences, writes the postings of
 * narrow feeds, moves the head, wakes the waiting once.
 */
export function numberPulses(
  tables: BatchTables,
  first: bigint,
  limit: number,
  { seedsOnly = false, history = [] }: NumberingParts = {},
): Statement {
  const order = seedsOnly ? seedOrder : batchOrder;
  const chunk =
    tables === stepTables
      ? `select * from ${tables.pulses}`
      : `delete from ${tables.pulses} where (${order}) in (select ${order} from ${tables.pulses} order by ${order} limit ${limit}) returning *`;
  return {
    ...(tables === stepTables && history.length === 0
      ? { name: seedsOnly ? 'sequencer_number_seeds' : 'sequencer_number' }
      : {}),
    text: `
with chunk as (
  ${chunk}
), wanted as (
  select feeds, md5(array_to_string(feeds, ',')) as digest from chunk group by feeds
), fresh as (
  insert into pulsefeed.audience (feeds, shared, narrow, digest)
  select w.feeds, coalesce(f.shared, 0), coalesce(f.narrow, '{}'), w.digest
  from wanted w
  cross join lateral (
    select bit_or(1::bigint << bit) filter (where bit is not null) as shared,
      array_agg(id order by id) filter (where bit is null) as narrow
    from pulsefeed.feed where id = any (w.feeds)
  ) f
  where not exists (select from pulsefeed.audience a where a.digest = w.digest)
  returning id, feeds, shared, narrow
), known as (
  select a.id, w.feeds, a.shared, a.narrow from wanted w join pulsefeed.audience a on a.digest = w.digest
  union all
  select id, feeds, shared, narrow from fresh
), numbered as materialized (
  select $1::bigint - 1 + row_number() over (order by ${order}) as seq,
    k.id as audience_id, k.shared, k.narrow, c.phase, c.told, c.resource_id, c.key
  from chunk c
  join known k on k.feeds = c.feeds
), written as (
  insert into pulsefeed.entity_event (seq, shared, audience_id, resource_id, key)
  select seq, shared, audience_id, resource_id, key from numbered order by seq
), posted as (
  insert into pulsefeed.event_feed (feed_id, seq, resource_id, key)
  select unnest(narrow), seq, resource_id, key from numbered where narrow <> '{}'
), last as (
  select max(seq) as head, count(*)::int as pulses from numbered
), moved as (
  update pulsefeed.log_head
  set last_seq = last.head, writer = pg_current_xact_id()
  from last
  where last.head is not null
), timed as (
  insert into pulsefeed.log_time (seq, at)
  select head, now() from last
  where head is not null and not exists (select from pulsefeed.log_time where at > now() - interval '1 second')
)${history.length === 0 ? '' : numberedHistory(history)}
select pulses, head, case when head is not null then pg_notify('pulsefeed_head', head::text) end from last`,
    values: [first],
  };
}
