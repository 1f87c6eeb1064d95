import type { Statement } from '../base/db/index.ts';

/** What `retireRange` did, or, where `missing` is not empty, would have done had all audiences been there. */
export interface RetiredRow {
  /** Retained pulses looked at. */
  readonly examined: number;
  /** Rows that no feed is left in. */
  readonly dropped: number;
  /** Rows that lost some of their feeds. */
  readonly narrowed: number;
  /** Sets of feeds that have no audience yet: nothing was changed. */
  readonly missing: number;
}

/** Retained pulses with their place, of the keys pulsed in `($1, $2]`, none above `$2`. */
const pulsesOfRange = `
touched as materialized (
  select distinct resource_id, key from pulsefeed.entity_event where seq > $1 and seq <= $2
), pulse as materialized (
  select p.at, p.seq, t.resource_id, t.key, p.audience_id, p.shared, coalesce(p.later, 0) as later
  from touched t
  -- Lateral with a window, so that there is one way to do it: each key through its index, newest first.
  cross join lateral (
    select e.ctid as at, e.seq, e.audience_id, e.shared, bit_or(e.shared) over (
      order by e.seq desc rows between unbounded preceding and 1 preceding
    ) as later
    from pulsefeed.entity_event e
    where e.resource_id = t.resource_id and e.key = t.key and e.seq <= $2
  ) p
)`;

/**
 * What each of those pulses loses (COMPACT): a shared feed when a later one has its bit; a narrow feed when a later one
 * has a posting in it. A private feed besides when a later one is in a feed that its consumer holds, but only in such as
 * show the record now, if any do: a consumer that is behind then meets the record in a feed that goes on showing it, and
 * need not wait for the revocation of another one to tell of it.
 */
// Tables are entered row by row in lateral parts that the planner cannot flatten: a join would be free to read all of one.
const lossOfRange = `
audience as materialized (
  select a.id, a.narrow
  from (select distinct audience_id as id from pulse) d
  cross join lateral (select * from pulsefeed.audience a where a.id = d.id offset 0) a
), posting as materialized (
  select p.seq, p.resource_id, p.key, n.feed,
    p.seq < max(p.seq) over (partition by p.resource_id, p.key, n.feed) as covered
  from pulse p
  join audience a on a.id = p.audience_id
  cross join lateral unnest(a.narrow) n (feed)
  where a.narrow <> '{}'
), private as materialized (
  select n.seq, n.resource_id, n.key, n.feed, h.feeds, h.mask
  from posting n
  join pulsefeed.consumer c on c.private_feed_id = n.feed
  left join lateral (
    select vis from pulsefeed.record_state s where s.resource_id = n.resource_id and s.key = n.key offset 0
  ) s on true
  cross join lateral (
    select array_agg(f.id) as feeds, coalesce(bit_or(1::bigint << f.bit), 0) as mask
    from pulsefeed.consumer_feed cf
    join pulsefeed.feed f on f.id = cf.feed_id
    where cf.consumer_id = c.id and f.id <> c.private_feed_id
      and (f.id = any (s.vis) or not exists (
        select from pulsefeed.consumer_feed o where o.consumer_id = c.id and o.feed_id = any (s.vis)
      ))
  ) h
  where not n.covered
), privately_covered as (
  select v.seq, v.feed from private v
  join pulse p on p.resource_id = v.resource_id and p.key = v.key
  where p.seq > v.seq and (p.shared & v.mask) <> 0
  union
  select v.seq, v.feed from private v
  join posting n on n.resource_id = v.resource_id and n.key = v.key
  where n.seq > v.seq and n.feed = any (v.feeds)
), unposted as materialized (
  select feed, seq from posting where covered
  union all
  select feed, seq from privately_covered
), kept as (
  select n.seq, coalesce(array_agg(n.feed order by n.feed) filter (where u.seq is null), '{}') as narrow,
    bool_or(u.seq is not null) as changed
  from posting n
  left join unposted u on u.seq = n.seq and u.feed = n.feed
  group by n.seq
), rest as materialized (
  select p.at, p.seq, p.shared & ~p.later as shared, coalesce(k.narrow, '{}') as narrow
  from pulse p
  left join kept k on k.seq = p.seq
  where (p.shared & p.later) <> 0 or k.changed
), wanted as materialized (
  select s.shared, s.narrow, f.feeds, f.digest, a.id as audience_id
  from (select distinct shared, narrow from rest where shared <> 0 or narrow <> '{}') s
  cross join lateral (
    select array_agg(id order by id) as feeds, md5(string_agg(id::text, ',' order by id)) as digest
    from pulsefeed.feed
    where id = any (s.narrow) or (s.shared >> bit) & 1 = 1
  ) f
  left join lateral (select id from pulsefeed.audience a where a.digest = f.digest offset 0) a on true
), missing as materialized (
  select * from wanted where audience_id is null
)`;

const range = (after: bigint, upTo: bigint): unknown[] => [after, upTo];

/** Takes from the log what COMPACT allows for the keys pulsed in `(after, upTo]`, unless an audience is missing. */
export function retireRange(after: bigint, upTo: bigint): Statement {
  return {
    text: `
with ${pulsesOfRange}, ${lossOfRange}, dropped as (
  -- By place: nobody else changes or moves a row of the log, and the watermark's lock keeps other compactors out.
  delete from pulsefeed.entity_event
  where ctid = any (array(
    select at from rest where shared = 0 and narrow = '{}' and not exists (select from missing)
  ))
  returning 1
), narrowed as (
  update pulsefeed.entity_event e
  set shared = r.shared, audience_id = w.audience_id
  from rest r
  join wanted w on w.shared = r.shared and w.narrow = r.narrow
  where e.ctid = r.at and not exists (select from missing)
  returning 1
), removed as (
  delete from pulsefeed.event_feed
  where ctid = any (array(
    select p.at from unposted u
    cross join lateral (
      select e.ctid as at from pulsefeed.event_feed e where e.feed_id = u.feed and e.seq = u.seq offset 0
    ) p
    where not exists (select from missing)
  ))
)
select (select count(*)::int from pulse) as examined, (select count(*)::int from dropped) as dropped,
  (select count(*)::int from narrowed) as narrowed, (select count(*)::int from missing) as missing`,
    values: range(after, upTo),
  };
}

/**
 * Interns the audiences that retiring `(after, upTo]` needs. The transaction holds the head lock, like everyone who
 * interns, and ends at once: an uncommitted audience would make the sequencer wait.
 */
export function internMissing(after: bigint, upTo: bigint): Statement {
  return {
    text: `
with ${pulsesOfRange}, ${lossOfRange}
insert into pulsefeed.audience (feeds, shared, narrow, digest)
select feeds, shared, narrow, digest from missing`,
    values: range(after, upTo),
  };
}

/** What one feed of one resource would lose. */
export interface PlannedLoss {
  readonly resource: string;
  readonly feed: string;
  /** Pulses that would leave the feed. */
  readonly pulses: bigint;
}

/** The losses of `(after, upTo]` in one go, a row a resource and feed. Changes nothing. */
export function planLosses(after: bigint, upTo: bigint): Statement {
  return {
    text: `
with ${pulsesOfRange}, ${lossOfRange}, loss as (
  select p.resource_id, f.id as feed, count(*) as pulses
  from (select resource_id, shared & later as bits, count(*) from pulse where (shared & later) <> 0 group by 1, 2) p0
  cross join lateral (select p0.resource_id, p0.bits, generate_series(1, p0.count)) p
  join pulsefeed.feed f on (p.bits >> f.bit) & 1 = 1
  group by 1, 2
  union all
  select n.resource_id, n.feed, count(*) from unposted u
  join posting n on n.seq = u.seq and n.feed = u.feed
  group by 1, 2
)
select r.name as resource, f.name as feed, l.pulses
from loss l
join pulsefeed.resource r on r.id = l.resource_id
join pulsefeed.feed f on f.id = l.feed
order by 1, 2`,
    values: range(after, upTo),
  };
}

/** Rows that would go or be narrowed, a row a resource. Changes nothing. */
export function planRows(after: bigint, upTo: bigint): Statement {
  return {
    text: `
with ${pulsesOfRange}, ${lossOfRange}
select n.name as resource, count(*) as examined,
  count(*) filter (where r.shared = 0 and r.narrow = '{}') as dropped,
  count(*) filter (where r.shared <> 0 or r.narrow <> '{}') as narrowed
from pulse p
join pulsefeed.resource n on n.id = p.resource_id
left join rest r on r.seq = p.seq
group by 1
order by 1`,
    values: range(after, upTo),
  };
}
