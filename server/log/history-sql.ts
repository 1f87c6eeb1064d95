/**
 * How history rows get the number of their change. A row waits while the outbox row of its change does; once that was
 * taken, the number of the record's pulse is also that of the row, given in the same statement. Two changes folded into
 * one pulse share its number.
 */

/** The rows of taken changes of the record `resource`, `key` (SQL): one probe of the index a record, whatever waits. */
function pendingOf(resource: string, key: string): string {
  return `
    select h.ctid as place from pulsefeed.history h
    where h.seq is null and h.resource = ${resource} and h.key = ${key}
      and not exists (select from pulsefeed.record_change w where w.xid = h.xid and w.id = h.change_id)
    offset 0`;
}

/**
 * The feeds that may read what changed, over a half-pulse's facts: those that the record was in before the change and is
 * in after it. A feed that it enters or leaves must not learn what it is elsewhere. A new record has no other side, and
 * one that is gone neither.
 */
export const toldSql = `case when not stored then vis when not present then before
    else array(select x from unnest(before) x where x = any (vis) order by x) end`;

/**
 * Common table expressions behind `numbered`: the rows of a change take the number of its pulse, of the one to those
 * who see the record now where there are two. Rows that nobody may read go.
 */
export function numberedHistory(resources: readonly string[]): string {
  return `, told as materialized (
  select distinct on (n.resource_id, n.key) n.seq, n.told, r.name, n.key
  from numbered n
  join pulsefeed.resource r on r.id = n.resource_id
  where r.name in (${resources.map(literal).join(', ')})
  order by n.resource_id, n.key, n.phase, n.seq
), settled as materialized (
  select t.seq, t.told, p.place
  from told t
  cross join lateral (${pendingOf('t.name', 't.key')}) p
), linked as (
  update pulsefeed.history h
  set seq = s.seq, feeds = s.told
  from settled s
  where h.ctid = s.place and s.told <> '{}'
), forgotten as (
  delete from pulsefeed.history h
  using settled s
  where h.ctid = s.place and coalesce(s.told, '{}') = '{}'
)`;
}

/** A common table expression behind `folded`: a change that no feed sees gets no number, and keeps no history. */
export function unseenHistory(resource: string): string {
  return `, unseen as (
  delete from pulsefeed.history h
  using (
    select p.place from folded f
    cross join lateral (${pendingOf(literal(resource), 'f.key')}) p
    where f.vis = '{}' and f.before = '{}' and f.give = '{}'
  ) p
  where h.ctid = p.place
)`;
}

function literal(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}
