import type { Statement } from '../base/db/index.ts';

/**
 * Temporary tables of one sweep: what stays, and what stays of a smaller audience. They are known to one session only
 * and go with it. What is not in `sweep_kept` goes, and that is most of the log: a list of what goes would be longer.
 */
export const createPlan = `
drop table if exists pg_temp.sweep_kept, pg_temp.sweep_narrowed, pg_temp.sweep_set, pg_temp.sweep_change;
create temporary table sweep_kept (seq bigint not null);
create temporary table sweep_narrowed (
  seq bigint not null, was integer not null, shared bigint not null, narrow integer[] not null)`;

/**
 * Plans COMPACT for one of `parts` shares of the keys, over all their pulses up to `upTo`, in one pass over the table.
 *
 * Of several pulses of a key for the same audience only the last can stay, since it covers the others in every feed:
 * a hash of (key, audience) first leaves a few rows a key, and only those are sorted and compared. The feeds that a pulse
 * loses are those that `server/log/retire-sql.ts` takes as well; a test keeps both equal to the rule in words.
 */
export function planPart(upTo: bigint, part: number, parts: number): Statement {
  return {
    text: `
with last as (
  select key, resource_id, audience_id, max(seq) as seq
  from pulsefeed.entity_event
  where seq <= $1 and (hashtext(key) & 2147483647) % $3::integer = $2::integer
  group by 1, 2, 3
), pulse as materialized (
  select seq, key, resource_id, was, shared & ~later as shared, (shared & later) <> 0 as loses, narrow
  from (
    select l.seq, l.key, l.resource_id, l.audience_id as was, a.shared, a.narrow,
      -- The key first: its order is cheap to compare, where a resource in front of it would be the same in most rows.
      coalesce(bit_or(a.shared) over (
        partition by l.key, l.resource_id
        order by l.seq desc rows between unbounded preceding and 1 preceding
      ), 0) as later
    from last l
    join pulsefeed.audience a on a.id = l.audience_id
  ) p
  where (shared & ~later) <> 0 or narrow <> '{}'
), ${keptOfPulses}, narrowed as (
  insert into sweep_narrowed (seq, was, shared, narrow)
  select seq, was, shared, narrow from kept where loses
)
insert into sweep_kept (seq) select seq from kept`,
    values: [upTo, part, parts],
  };
}

/**
 * What is left of `pulse`, whose shared feeds are settled: narrow feeds go where a later pulse has a posting, private
 * ones besides where a later pulse is in a feed that its consumer holds and that shows the record, or, where none
 * does, in any that it holds.
 */
const keptOfPulses = `
posting as materialized (
  select p.seq, p.key, p.resource_id, n.feed,
    p.seq < max(p.seq) over (partition by p.key, p.resource_id, n.feed) as covered
  from pulse p
  cross join lateral unnest(p.narrow) n (feed)
  where p.narrow <> '{}'
), private as materialized (
  select n.seq, n.key, n.resource_id, n.feed, h.feeds, h.mask
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
  join pulse p on p.key = v.key and p.resource_id = v.resource_id
  where p.seq > v.seq and (p.shared & v.mask) <> 0
  union
  select v.seq, v.feed from private v
  join posting n on n.key = v.key and n.resource_id = v.resource_id
  where n.seq > v.seq and n.feed = any (v.feeds)
), left_narrow as (
  select n.seq, array_agg(n.feed order by n.feed) filter (where n.stays) as narrow, bool_and(n.stays) as whole
  from (
    select n.seq, n.feed, not n.covered and v.seq is null as stays
    from posting n
    left join privately_covered v on v.seq = n.seq and v.feed = n.feed
  ) n
  group by n.seq
), kept as materialized (
  select p.seq, p.was, p.shared, coalesce(n.narrow, '{}') as narrow, p.loses or not coalesce(n.whole, true) as loses
  from pulse p
  left join left_narrow n on n.seq = p.seq
  where p.shared <> 0 or n.narrow is not null
)`;

/** Brings the plan in the order of the log, and says which audiences its narrowed pulses need. */
export const finishPlan = `
create unique index on sweep_kept (seq);
analyze sweep_kept;
create temporary table sweep_set as
select row_number() over () as id, s.was, s.shared, s.narrow, f.feeds, f.digest,
  pulsefeed.feeds_minus(w.narrow, s.narrow) as lost
from (select distinct was, shared, narrow from sweep_narrowed) s
join pulsefeed.audience w on w.id = s.was
cross join lateral (
  select array_agg(id order by id) as feeds, md5(string_agg(id::text, ',' order by id)) as digest
  from pulsefeed.feed
  where id = any (s.narrow) or (s.shared >> bit) & 1 = 1
) f;
create temporary table sweep_change as
select n.seq, s.id as set_id
from sweep_narrowed n
join sweep_set s on s.was = n.was and s.shared = n.shared and s.narrow = n.narrow;
drop table sweep_narrowed;
create unique index on sweep_change (seq);
analyze sweep_set;
analyze sweep_change`;

/** How many audiences the plan needs that are not there. */
export const countMissing: Statement = {
  text: `
select count(*) as missing from sweep_set s
where not exists (select from pulsefeed.audience a where a.digest = s.digest)`,
};

/** Interns them. The transaction holds the head lock, like everyone who interns. */
export const internPlanned: Statement = {
  text: `
insert into pulsefeed.audience (feeds, shared, narrow, digest)
select distinct on (s.digest) s.feeds, s.shared, s.narrow, s.digest
from sweep_set s
where not exists (select from pulsefeed.audience a where a.digest = s.digest)
order by s.digest`,
};

/** Removes the postings `unposted (feed, seq)`, each found through the index and deleted by its place. */
const removePostings = `
removed as (
  delete from pulsefeed.event_feed
  where ctid = any (array(
    select p.at from unposted u
    cross join lateral (
      select e.ctid as at from pulsefeed.event_feed e where e.feed_id = u.feed and e.seq = u.seq offset 0
    ) p
  ))
)`;

/**
 * Drops what the plan leaves nothing of in `(after, upTo]`, in the order of the log: each page of the table is met once.
 * Nothing is numbered at or below the plan's end once it was made (PREFIX), so what it does not name, it saw.
 */
export function dropRange(after: bigint, upTo: bigint): Statement {
  return {
    text: `
with gone as (
  delete from pulsefeed.entity_event e
  where e.seq > $1 and e.seq <= $2 and not exists (
    select from sweep_kept k where k.seq = e.seq and k.seq > $1 and k.seq <= $2
  )
  returning e.seq, e.audience_id
), posted as materialized (
  select a.id, a.narrow
  from (select distinct audience_id as id from gone) d
  cross join lateral (
    select * from pulsefeed.audience a where a.id = d.id and a.narrow <> '{}' offset 0
  ) a
), unposted as materialized (
  select n.feed, g.seq from posted p
  join gone g on g.audience_id = p.id
  cross join lateral unnest(p.narrow) n (feed)
), ${removePostings}
select count(*)::int as rows from gone`,
    values: [after, upTo],
  };
}

/**
 * Narrows the pulses of `(after, upTo]` that keep some of their feeds; `rows` of them. One that another compactor narrowed
 * since the plan was made is narrowed further if it still has all that the plan leaves it. It has less when that one
 * counted later covers: it is left as it is, and is one of `astray` if it also has what the plan takes.
 */
export function narrowRange(after: bigint, upTo: bigint): Statement {
  return {
    text: `
with change as materialized (
  select c.seq, s.shared, s.narrow, s.lost, a.id as audience_id
  from sweep_change c
  join sweep_set s on s.id = c.set_id
  join pulsefeed.audience a on a.digest = s.digest
  where c.seq > $1 and c.seq <= $2
), present as materialized (
  select e.ctid as at, c.seq, c.audience_id, c.shared, c.lost,
    (c.shared & ~a.shared) = 0 and c.narrow <@ a.narrow as whole,
    (a.shared & ~c.shared) = 0 and a.narrow <@ c.narrow as settled
  from change c
  join pulsefeed.entity_event e on e.seq = c.seq and e.seq > $1 and e.seq <= $2
  join pulsefeed.audience a on a.id = e.audience_id
), narrowed as (
  -- By place: the watermark's lock keeps everybody out who changes or moves a row of the log.
  update pulsefeed.entity_event e
  set shared = p.shared, audience_id = p.audience_id
  from present p
  where e.ctid = p.at and p.whole and not p.settled
  returning p.seq, p.lost
), unposted as materialized (
  select l.feed, n.seq from narrowed n
  cross join lateral unnest(n.lost) l (feed)
  where n.lost <> '{}'
), ${removePostings}
select (select count(*)::int from narrowed) as rows,
  (select count(*)::int from present where not whole and not settled) as astray`,
    values: [after, upTo],
  };
}
