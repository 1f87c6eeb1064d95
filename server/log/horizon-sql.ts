import type { Statement } from '../base/db/index.ts';

/** What one step over a part of the log did. */
export interface DroppedRow {
  readonly examined: number;
  readonly dropped: number;
}

/**
 * Drops from `(after, upTo]` the pulses that show no reader a record any more: no feed of theirs has it. The last pulse
 * of each feed stays whatever it tells: a reader that knows its last number only would else stand below the horizon of a
 * feed in which nothing happens, be told to start again, and stand there again. The horizon of each feed moves in the
 * same transaction.
 *
 * Whether a shared feed goes on is looked for in the next `lookAhead` pulses only: with a feed that ended years ago
 * each step would else read the log to its end. Where nothing is found the last of the part stays; it may not be the last
 * of all, and then one more than need be is kept.
 */
export function dropHidden(after: bigint, upTo: bigint, lookAhead: number): Statement {
  return {
    text: `
with part as materialized (
  select e.ctid as at, e.seq, e.shared, e.resource_id, e.key, e.audience_id
  from pulsefeed.entity_event e
  where e.seq > $1 and e.seq <= $2
), hidden as materialized (
  select p.at, p.seq, a.feeds, a.narrow
  from part p
  cross join lateral (select feeds, narrow from pulsefeed.audience a where a.id = p.audience_id offset 0) a
  left join lateral (
    select vis from pulsefeed.record_state s where s.resource_id = p.resource_id and s.key = p.key offset 0
  ) s on true
  where not (a.feeds && coalesce(s.vis, '{}'))
), last as materialized (
  select case when f.bit is null
    then (select max(n.seq) from pulsefeed.event_feed n where n.feed_id = f.id)
    when not exists (
      select from (select shared from pulsefeed.entity_event where seq > $2 order by seq limit $3) e
      where (e.shared >> f.bit) & 1 = 1
    ) then (select max(p.seq) from part p where (p.shared >> f.bit) & 1 = 1)
  end as seq
  from pulsefeed.feed f
  where f.id in (select unnest(feeds) from hidden)
), gone as materialized (
  select * from hidden where seq <> all (array(select seq from last where seq is not null))
), dropped as (
  -- By place: the lock on the watermark of compaction keeps everybody out who changes or moves a row of the log.
  delete from pulsefeed.entity_event where ctid = any (array(select at from gone)) returning 1
), unposted as (
  delete from pulsefeed.event_feed n
  using (select seq, unnest(narrow) as feed_id from gone) g
  where n.feed_id = g.feed_id and n.seq = g.seq
), moved as (
  insert into pulsefeed.tombstone_horizon as h (feed_id, seq)
  select f.id, max(g.seq) from gone g cross join lateral unnest(g.feeds) f (id) group by f.id
  on conflict (feed_id) do update set seq = greatest(h.seq, excluded.seq)
)
select (select count(*)::int from part) as examined, (select count(*)::int from dropped) as dropped`,
    values: [after, upTo, lookAhead],
  };
}

/** Takes the watermark of dropping: whoever drops holds it, and whoever takes feeds from a consumer waits for that. */
export const lockTombstones: Statement = { text: 'select from pulsefeed.tombstone for update' };

/**
 * A consumer that loses feeds is told of each record that a retained pulse of theirs names; of those whose pulse was
 * dropped it must learn by starting again. Their horizon becomes that of its private feed, which it keeps.
 */
export function carryHorizon(consumerId: number, lost: readonly number[]): Statement {
  return {
    text: `
insert into pulsefeed.tombstone_horizon as h (feed_id, seq)
select c.private_feed_id, max(t.seq)
from pulsefeed.consumer c
join pulsefeed.tombstone_horizon t on t.feed_id = any ($2::integer[])
where c.id = $1
group by c.private_feed_id
on conflict (feed_id) do update set seq = greatest(h.seq, excluded.seq)`,
    values: [consumerId, [...lost]],
  };
}
