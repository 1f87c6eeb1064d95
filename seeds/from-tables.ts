import { internResources, type SeedRecords } from '../server/log/seed.ts';
import type { SeedReport } from './seed-report.ts';
import { countWaiting, lineUpOrPreview, numberLinedUp, type SeedWork, toReport } from './seed-work.ts';
import { type SourceCount, seedPlace, tableRecords } from './table-records.ts';

/** Seeds the configured tables. The records never pass through this process. */
export async function seedTables(work: SeedWork): Promise<SeedReport> {
  const startedAt = work.now();
  const { db, tables, config } = work.runtime;
  const records: SeedRecords[] = [];
  const counts: SourceCount[] = [];
  const notes: string[] = [];
  work.onProgress({ phase: 'lining up', done: 0, total: 0 });
  for (const table of tables) {
    const found = await tableRecords(db, table, seedPlace(config.resources, table.config.name));
    records.push(found.records);
    counts.push(found.count);
    if (found.note !== undefined) notes.push(found.note);
  }
  if (tables.length === 0) notes.push('No configured resource has a table; name a file with --from.');
  if (!work.dryRun)
    await internResources(
      db,
      records.map(({ resource }) => resource),
    );
  const resumed = await countWaiting(db);
  const linedUp = await db.transaction(tx => lineUpOrPreview(work, tx, records));
  const fresh = linedUp.counts.reduce((sum, { count }) => sum + count, 0);
  const numbered = await numberLinedUp(work, resumed + fresh);
  return toReport(work, startedAt, { counts, linedUp, resumed, numbered, notes });
}
