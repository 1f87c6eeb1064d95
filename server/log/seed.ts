import type { Db, Queryable, Statement } from '../base/db/index.ts';

/** The records of one resource that are to get their first event, and where they stand in the order of seeding. */
export interface SeedRecords {
  readonly resource: string;
  /** Longest path from a resource without parents: smaller levels are numbered first. */
  readonly level: number;
  /** Decides between resources of one level whose records were modified at the same time. */
  readonly rank: number;
  /**
   * A select of `key` (text, distinct, never null) and `modified` (timestamptz or null). Built from configuration
   * and the catalog, never from a request.
   */
  readonly select: string;
}

/** Records of one resource that are waiting for their first event. */
export interface SeedCount {
  readonly resource: string;
  readonly count: number;
}

/** A record in the order in which seeding would number it. */
export interface SeedPreview {
  readonly resource: string;
  readonly key: string;
  /** ISO 8601 in UTC, or null. */
  readonly modified: string | null;
}

/** An arbitrary constant: whoever holds this advisory lock lines up, so that positions become visible in order. */
const lineUpLock = '7238462017';

/**
 * Gives new resources their id. Under the head lock, like every interning: the sequencer interns what it meets in
 * the outbox, and a name must not get two ids. In a short transaction of its own, since lining up takes longer.
 */
export async function internResources(db: Pick<Db, 'transaction'>, names: readonly string[]): Promise<void> {
  await db.transaction(async tx => {
    await tx.query({ text: 'select 1 from pulsefeed.log_head for update' });
    await tx.query({
      text: `
insert into pulsefeed.resource (name)
select n.name from unnest($1::text[]) with ordinality n (name, ord)
where not exists (select from pulsefeed.resource r where r.name = n.name)
order by n.ord`,
      values: [names],
    });
  });
}

/**
 * Lines records up for numbering, those left out that have their event or are lined up already: level, then time of
 * the last change (none first), then rank, then key byte by byte. All in the caller's transaction, so a run that is
 * killed has lined up nothing, and the next one does what is missing. Returns the new entries of each resource. The
 * head is not held meanwhile; a record that is numbered before its turn is passed over when its turn comes.
 */
export async function lineUp(tx: Queryable, records: readonly SeedRecords[]): Promise<SeedCount[]> {
  if (records.length === 0) return [];
  await tx.query({ text: `select pg_advisory_xact_lock(${lineUpLock})` });
  // A million rows are sorted and hashed; compiling the statement costs more than it saves. Statistics of the log are
  // old by nature here: a planner that believes it nearly empty would compare each record with each entry in a loop.
  await tx.script(`set local work_mem = '64MB'; set local jit = off; set local enable_nestloop = off`);
  const [before] = await tx.query<{ pos: bigint }>({
    text: 'select coalesce(max(pos), 0) as pos from pulsefeed.seed_entry',
  });
  const ids = await resourceIds(tx);
  // Level by level: a sort whose first column is alike in most rows takes half as long again.
  for (const level of new Set(records.map(record => record.level).sort((a, b) => a - b))) {
    const ofLevel = records.filter(record => record.level === level);
    await tx.query({
      text: `
insert into pulsefeed.seed_entry (resource_id, key)
select resource_id, key from (${withoutEvent(ofLevel, ids)}) s
order by ${orderInLevel}`,
    });
  }
  // The numbering steps are planned by how many entries they take.
  await tx.query({ text: 'analyze pulsefeed.seed_entry' });
  return tx.query<SeedCount>(countEntries(before?.pos ?? 0n));
}

/** What `lineUp` would add: a count for each resource, and the first rows in their order. Writes nothing. */
export async function previewLineUp(
  tx: Queryable,
  records: readonly SeedRecords[],
  rows: number,
): Promise<{ counts: SeedCount[]; first: SeedPreview[] }> {
  if (records.length === 0) return { counts: [], first: [] };
  const ids = await resourceIds(tx);
  const source = withoutEvent(records, ids);
  const counts = await tx.query<SeedCount>({
    text: `select resource, count(*)::int as count from (${source}) s group by resource`,
  });
  const first = await tx.query<SeedPreview>({
    text: `
select resource, key, to_char(modified at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as modified
from (${source}) s
order by level, ${orderInLevel}
limit $1`,
    values: [rows],
  });
  return { counts, first };
}

/** Entries that still wait for their number, left by this run or an earlier one. */
export function waitingEntries(db: Queryable): Promise<SeedCount[]> {
  return db.query<SeedCount>(countEntries(0n));
}

/**
 * Takes back what capture noted in this transaction about new records that are lined up: the seeding tool loaded
 * them itself, and their event is the one that seeding gives. Changes of other transactions are never touched.
 */
export async function forgetOwnInserts(tx: Queryable, resource: string): Promise<void> {
  await tx.query({
    text: `
delete from pulsefeed.record_change c
using pulsefeed.seed_entry e, pulsefeed.resource r
where c.xid = pg_current_xact_id() and c.op = 'i' and c.resource = $1
  and r.name = c.resource and e.resource_id = r.id and e.key = c.key`,
    values: [resource],
  });
}

/** Renews the planner's picture of the log, which is wrong by orders of magnitude after a large seeding. */
export async function refreshStatistics(db: Queryable): Promise<void> {
  for (const table of ['record_state', 'entity_event']) {
    await db.query({ text: `analyze pulsefeed.${table}` });
  }
}

const orderInLevel = 'modified nulls first, rank, key collate "C"';

async function resourceIds(tx: Queryable): Promise<Map<string, number>> {
  const rows = await tx.query<{ id: number; name: string }>({
    text: 'select id, name from pulsefeed.resource',
  });
  return new Map(rows.map(({ id, name }) => [name, id]));
}

/** A resource that was never interned has no event yet: id 0 matches nothing. */
function withoutEvent(records: readonly SeedRecords[], ids: ReadonlyMap<string, number>): string {
  return records
    .map(({ resource, level, rank, select }) => {
      const id = ids.get(resource) ?? 0;
      return `
select ${level} as level, ${rank} as rank, ${id}::smallint as resource_id, '${resource.replaceAll("'", "''")}' as resource,
  s.key, s.modified
from (${select}) s
where not exists (select from pulsefeed.record_state r where r.resource_id = ${id} and r.key = s.key)
  and not exists (select from pulsefeed.seed_entry e where e.resource_id = ${id} and e.key = s.key)`;
    })
    .join('\nunion all');
}

function countEntries(after: bigint): Statement {
  return {
    text: `
select r.name as resource, count(*)::int as count
from pulsefeed.seed_entry e
join pulsefeed.resource r on r.id = e.resource_id
where e.pos > $1
group by r.name`,
    values: [after],
  };
}
