/**
 * For every reader and every record, the last pulse that tells the reader of it, over rows `p (seq, resource_id, key,
 * shared, audience_id)`. Readers are the feeds and, since consumers hold several, the consumers. A reader that stands at c is told
 * of exactly the records whose last pulse is above c: two logs with the same answer tell the same from every cursor.
 * Bits and postings are read as a page reads them; the audience only says which postings to look for.
 */
export const lastTold = `
select t.reader, t.resource_id, t.key, max(t.seq) as last
from (
  select r.reader, p.resource_id, p.key, p.seq
  from p
  join (
    select 'feed ' || name as reader, bit from pulsefeed.feed where bit is not null
    union all
    select 'consumer ' || c.name, f.bit
    from pulsefeed.consumer c
    join pulsefeed.consumer_feed cf on cf.consumer_id = c.id
    join pulsefeed.feed f on f.id = cf.feed_id
    where f.bit is not null
  ) r on (p.shared >> r.bit) & 1 = 1
  union all
  select r.reader, p.resource_id, p.key, p.seq
  from p
  cross join lateral (select narrow from pulsefeed.audience a where a.id = p.audience_id offset 0) a
  cross join lateral unnest(a.narrow) n (feed)
  join (
    select 'feed ' || name as reader, id from pulsefeed.feed where bit is null and definition_id is not null
    union all
    select 'consumer ' || c.name, cf.feed_id
    from pulsefeed.consumer c
    join pulsefeed.consumer_feed cf on cf.consumer_id = c.id
  ) r on r.id = n.feed
  where exists (select from pulsefeed.event_feed e where e.feed_id = n.feed and e.seq = p.seq offset 0)
) t
group by 1, 2, 3`;
