import type { Queryable, Statement } from '../base/db/index.ts';

/** One change that a service reports: the record is there (again), or it is gone. */
export interface ReportedChange {
  readonly resource: string;
  readonly key: string;
  readonly op: 'upsert' | 'delete';
  /** The feeds that may see the record, stated by the producer; absent: those of its rules, or everyone. */
  readonly feeds?: readonly string[];
  /** With `source`, makes the report idempotent. */
  readonly id?: string;
}

/** How many changes were taken and how many had been taken before. */
export interface Appended {
  readonly accepted: number;
  readonly duplicates: number;
}

/**
 * Writes changes to the outbox in the caller's transaction, in their order. A change whose (source, id) was accepted
 * before counts as a duplicate and is left out; so is the second of two with one id in the same call. Ids are claimed
 * in their order, so that calls which share some wait for each other and never deadlock.
 */
export async function appendChanges(
  tx: Queryable,
  source: string | undefined,
  changes: readonly ReportedChange[],
): Promise<Appended> {
  const [row] = await tx.query<{ accepted: number }>(insertChanges(source, changes));
  const accepted = row?.accepted ?? 0;
  return { accepted, duplicates: changes.length - accepted };
}

function insertChanges(source: string | undefined, changes: readonly ReportedChange[]): Statement {
  return {
    name: 'log_append',
    text: `
with given as (
  select * from json_to_recordset($1::json) as c (n integer, id text, resource text, key text, op text, feeds text[])
), accepted as (
  insert into pulsefeed.ingested (source, id)
  select $2::text, id from given where id is not null and $2::text is not null group by id order by id
  on conflict (source, id) do nothing
  returning id
), first as (
  select distinct on (g.id) g.n from given g join accepted a on a.id = g.id order by g.id, g.n
), written as (
  insert into pulsefeed.record_change (op, resource, key, feeds)
  select case op when 'delete' then 'd' else 'u' end::"char", resource, key, feeds
  from given g
  where g.id is null or $2::text is null or g.n in (select n from first)
  order by n
  returning 1
)
select count(*)::int as accepted from written`,
    values: [
      JSON.stringify(
        changes.map((change, n) => ({
          n,
          id: change.id ?? null,
          resource: change.resource,
          key: change.key,
          op: change.op,
          feeds: change.feeds ?? null,
        })),
      ),
      source ?? null,
    ],
  };
}
