import type { Queryable, Statement } from '../../base/db/index.ts';

/** A pulse that is to be archived, and the feeds that a later retained pulse of its record has as well. */
export interface MovedRow {
  readonly seq: bigint;
  readonly resource_id: number;
  readonly key: string;
  readonly audience_id: number;
  readonly covered: number[] | null;
}

/**
 * The pulses of `(after, upTo]` with what COMPACT lets each lose. Whatever is later in the log counts, since a pulse that
 * covers is only ever taken away for one later still. A private feed is covered by itself alone: what its consumer holds
 * may change, and what is in a segment does not.
 */
// Tables are entered row by row in lateral parts that the planner cannot flatten: a join would be free to read all of one.
export function movedRows(after: bigint, upTo: bigint): Statement {
  return {
    text: `
with touched as materialized (
  select distinct resource_id, key from pulsefeed.entity_event where seq > $1 and seq <= $2
), pulse as materialized (
  select p.seq, t.resource_id, t.key, p.audience_id
  from touched t
  cross join lateral (
    select e.seq, e.audience_id from pulsefeed.entity_event e
    where e.resource_id = t.resource_id and e.key = t.key and e.seq > $1 offset 0
  ) p
), audience as materialized (
  select a.id, a.feeds
  from (select distinct audience_id as id from pulse) d
  cross join lateral (select * from pulsefeed.audience a where a.id = d.id offset 0) a
), member as (
  select p.seq, f.feed, p.seq < max(p.seq) over (partition by p.resource_id, p.key, f.feed) as covered
  from pulse p
  join audience a on a.id = p.audience_id
  cross join lateral unnest(a.feeds) f (feed)
), loss as materialized (
  select seq, array_agg(feed order by feed) as covered from member where covered and seq <= $2 group by seq
)
select p.seq, p.resource_id, p.key, p.audience_id, l.covered
from pulse p
left join loss l on l.seq = p.seq
where p.seq <= $2
order by p.seq`,
    values: [after, upTo],
  };
}

/** Stands for the numbers and audiences of the pulses of `(after, upTo]` in the table. */
export function partDigest(after: bigint, upTo: bigint): Statement {
  return {
    text: `
select md5(coalesce(string_agg(seq || ' ' || audience_id, ',' order by seq), '')) as digest
from pulsefeed.entity_event
where seq > $1 and seq <= $2`,
    values: [after, upTo],
  };
}

/** Takes the part from the table, and the postings of what compaction took from it. The others stay (ADR 8). */
export async function deletePart(
  tx: Queryable,
  { after, upTo }: { readonly after: bigint; readonly upTo: bigint },
  lost: { readonly feeds: readonly number[]; readonly seqs: readonly string[] },
): Promise<void> {
  await tx.query({
    text: 'delete from pulsefeed.entity_event where seq > $1 and seq <= $2',
    values: [after, upTo],
  });
  await tx.query({
    text: `
delete from pulsefeed.event_feed p
using unnest($1::integer[], $2::bigint[]) l (feed_id, seq)
where p.feed_id = l.feed_id and p.seq = l.seq`,
    values: [[...lost.feeds], [...lost.seqs]],
  });
}

/** A set of feeds as an audience: `id` is null where it has none yet. */
export interface AudienceRow {
  /** As text, such as `1,4`. */
  readonly feeds: string;
  readonly id: number | null;
}

/** The audiences of sets that are given as text. */
export function findAudiences(sets: readonly string[]): Statement {
  return {
    text: `
select s.feeds, a.id
from unnest($1::text[]) s (feeds)
left join lateral (select id from pulsefeed.audience a where a.digest = md5(s.feeds) offset 0) a on true`,
    values: [[...sets]],
  };
}

/** Interns those that are missing. The transaction holds the head lock, as everyone's who interns. */
export function internAudiences(sets: readonly string[]): Statement {
  return {
    text: `
insert into pulsefeed.audience (feeds, shared, narrow, digest)
select f.feeds, coalesce(f.shared, 0), coalesce(f.narrow, '{}'), md5(s.feeds)
from unnest($1::text[]) s (feeds)
cross join lateral (
  select array_agg(id order by id) as feeds, bit_or(1::bigint << bit) filter (where bit is not null) as shared,
    array_agg(id order by id) filter (where bit is null) as narrow
  from pulsefeed.feed where id = any (string_to_array(s.feeds, ',')::integer[])
) f
where not exists (select from pulsefeed.audience a where a.digest = md5(s.feeds))`,
    values: [[...sets]],
  };
}
