/**
 * SQL for the pulses that a reader may see, written so that the planner has nothing to gamble with: shared feeds by
 * walking the log and testing their bits, narrow ones through their postings, which hold all that a page shows.
 */

/** What the reader holds, once for the statement: the bits of the shared feeds, and the narrow feeds. */
export function heldFeeds(held: string): string {
  return `
with held as materialized (
  select f.id, f.bit from (${held}) h (id)
  cross join lateral (select id, bit from pulsefeed.feed where id = h.id limit 1) f
), shared as materialized (
  select coalesce(bit_or(1::bigint << bit), 0) as mask from held where bit is not null
), narrow as materialized (
  select id, (count(*) over ())::integer as feeds from held where bit is null
)`;
}

/** For a statement that asks for feeds where everyone reads everything: nobody holds any. */
export const heldByNobody = `
with held as (select null::integer as id where false)`;

/**
 * SQL `text[]`: the feeds of a pulse that the reader holds, by definition; a private feed has none. For statements that
 * `read` was told of by `feedTypes` only.
 */
export const eventFeedTypes = (alias: string) => `array(
    select distinct d.name from pulsefeed.audience a
    join held on held.id = any (a.feeds)
    join pulsefeed.feed f on f.id = held.id
    join pulsefeed.feed_definition d on d.id = f.definition_id
    where a.id = ${alias}.audience_id
    order by d.name
  )`;

/** What is asked of the pulses of a reader. */
export interface Wanted {
  /** Condition over alias `e`. */
  readonly where: string;
  /** No number at or below this fulfils it. */
  readonly above: string;
  /** Whether the audience is asked for, which postings do not hold. */
  readonly feedTypes: boolean;
}

/** Every pulse that the reader may see, for an order other than the log's. */
export function visibleTo(wanted: Wanted): string {
  return everyVisible(wanted, columns(wanted));
}

/** The numbers of all that the reader may see, to be counted. */
export function visibleNumbers(wanted: Wanted): string {
  return everyVisible(wanted, 'e.seq');
}

function everyVisible(wanted: Wanted, shown: string): string {
  return `(select ${shown} ${sharedPart(wanted)})
  union
  (select ${shown} from narrow f
   join ${postings(wanted)} e on e.feed_id = f.id and e.seq > ${wanted.above}
   where ${wanted.where})`;
}

/** A page in the order of the log. */
export interface VisiblePage extends Wanted {
  /** True when `where` says no more than `above`. */
  readonly seekOnly: boolean;
  readonly limit: string;
  readonly offset: string;
  /**
   * With pulses from the archive, in the CTE `archived`: those that the reader may see by shared feeds, and with
   * `feedTypes` by any. `end` is where the page ends; absent: the table follows.
   */
  readonly archived?: { readonly end: string | undefined };
}

/** As `visiblePage` where everyone reads everything: the archived pulses, and the table's unless the page ends before. */
export function everyonesPage({
  where,
  limit,
  offset,
  archived,
}: Pick<VisiblePage, 'where' | 'limit' | 'offset'> & Required<Pick<VisiblePage, 'archived'>>): string {
  const end = archived.end === undefined ? '' : `and e.seq <= ${archived.end}`;
  const part = (log: string) => `(
    select e.seq, e.resource_id, e.key, e.audience_id from ${log} e where ${where} ${end}
    order by e.seq limit (${limit} + ${offset})
  )`;
  return archived.end === undefined
    ? `${part('archived')} union all ${part('pulsefeed.entity_event')}`
    : part('archived');
}

/** The pulses of a page and of those that it passes over. A pulse of several feeds comes once. */
export function visiblePage(page: VisiblePage): string {
  const { where, limit, offset, seekOnly, archived } = page;
  const most = `(${limit} + ${offset})`;
  // Whoever stands at the head, as an idle poll does, has nothing to look for in any feed.
  const feeds = `(select * from narrow where ${page.above} < (select last_seq from pulsefeed.log_head))`;
  const end = archived?.end === undefined ? '' : `and e.seq <= ${archived.end}`;
  const shared = [
    ...(archived === undefined
      ? []
      : [`(select ${columns(page)} from archived e where ${where} order by e.seq limit ${most})`]),
    ...(archived?.end === undefined
      ? [`(select ${columns(page)} ${sharedPart(page)} order by e.seq limit ${most})`]
      : []),
  ];
  return `select distinct on (u.seq) u.* from (
  ${shared.join('\n  union all\n  ')}
  union all
  (select n.* from ${feeds} f
   ${seekOnly ? pageBound(page, most) : ''}
   cross join lateral (
     select ${columns(page)} from ${postings(page)} e
     where e.feed_id = f.id and e.seq > ${page.above} ${seekOnly ? 'and e.seq <= bound.seq' : `and ${where}`} ${end}
     order by e.seq limit ${most}
   ) n)
  ) u
  order by u.seq limit ${most}`;
}

const columns = ({ feedTypes }: Wanted) => `e.seq, e.resource_id, e.key${feedTypes ? ', e.audience_id' : ''}`;

/** A reader without shared feeds never enters it. */
function sharedPart({ where }: Wanted): string {
  return `from pulsefeed.entity_event e
   where (select mask from shared) <> 0 and (e.shared & (select mask from shared)) <> 0 and ${where}`;
}

/** Left to choose how to join them, the planner read the whole log for a page of it. */
function postings({ feedTypes }: Wanted): string {
  if (!feedTypes) return 'pulsefeed.event_feed';
  return `(
    select p.feed_id, p.seq, p.resource_id, p.key, r.audience_id from pulsefeed.event_feed p
    cross join lateral (select audience_id from pulsefeed.entity_event where seq = p.seq limit 1) r
  )`;
}

/**
 * With a hundred feeds a page from each would be a hundred pages to merge. A few from each give a bound: the page ends
 * at the latest where these alone would fill it, and what else there is up to there is not much more than the page.
 */
function pageBound({ above }: VisiblePage, most: string): string {
  return `cross join (
     select coalesce((
       select c.seq from (
         select distinct n.seq from narrow f
         cross join lateral (
           select p.seq from pulsefeed.event_feed p
           where p.feed_id = f.id and p.seq > ${above}
           order by p.seq limit least(${most}, 1 + 2 * ${most} / f.feeds)
         ) n
       ) c
       order by c.seq limit 1 offset greatest(${most} - 1, 0)
     ), 9223372036854775807) as seq
   ) bound`;
}
