import { basename } from 'node:path';
import type { ResourceTable } from '../server/base/catalog/index.ts';
import { type Queryable, quoteTable, type Session } from '../server/base/db/index.ts';
import { PulsefeedError, sqlState } from '../server/base/errors.ts';
import { forgetOwnInserts, internResources } from '../server/log/seed.ts';
import { datePattern, isoDate } from './date-pattern.ts';
import { type FileRows, readRows } from './file-rows.ts';
import { defaultKeySeparator, type FileSource } from './file-source.ts';
import { FaultList } from './input-fault.ts';
import { fieldNames } from './input-record.ts';
import { type LoadPlan, planLoad } from './load-plan.ts';
import type { SeedReport } from './seed-report.ts';
import { countWaiting, lineUpOrPreview, numberLinedUp, type SeedWork, toReport } from './seed-work.ts';
import { Stage } from './stage.ts';
import { type SourceCount, seedPlace } from './table-records.ts';

/** What to do about records that cannot be used. */
export interface BadRecords {
  readonly skipBad: boolean;
  readonly badFile: string | undefined;
}

/**
 * Seeds the records of a file. All of it is read before anything is written, so a file with a fault changes nothing;
 * loading and lining up are one transaction.
 */
export async function seedFile(work: SeedWork, source: FileSource, onBad: BadRecords): Promise<SeedReport> {
  const startedAt = work.now();
  const { runtime } = work;
  const table = runtime.tables.find(({ config }) => config.name === source.resource);
  const load = source.load === undefined ? undefined : await loadTable(work, source, table);
  const file = fileRows(source, load);
  const plan = load === undefined ? undefined : planLoad(load, fieldsOf(file), source.modified);
  const faults = new FaultList(file.name, onBad.badFile);
  const session = await runtime.db.session();
  try {
    const stage = await Stage.create(session, plan, faults);
    const notes = await fill(work, stage, file, faults, onBad.skipBad);
    if (!work.dryRun) await internResources(runtime.db, [source.resource]);
    const resumed = await countWaiting(runtime.db);
    const place = seedPlace(runtime.config.resources, source.resource);
    const count = await countStage(session, stage, source.resource, place, faults);
    const { linedUp, loaded } = await session
      .transaction(tx => writeStage(work, tx, stage, plan, source, place))
      .catch((error: unknown) => {
        throw loadFault(error, source);
      });
    if (table !== undefined && plan === undefined) notes.push(...(await missingRows(session, stage, table)));
    await stage.drop();
    const fresh = linedUp.counts.reduce((sum, { count }) => sum + count, 0);
    const numbered = await numberLinedUp(work, resumed + fresh);
    const bad = { count: faults.count, first: faults.first };
    return await toReport(work, startedAt, {
      counts: [count],
      linedUp,
      resumed,
      numbered,
      bad,
      loaded,
      notes,
    });
  } finally {
    faults.close();
    await session.close();
  }
}

function fileRows(source: FileSource, load: ResourceTable | undefined): FileRows {
  const read = source.modifiedFormat === undefined ? isoDate : datePattern(source.modifiedFormat);
  return {
    path: source.path,
    name: basename(source.path),
    keyColumns: source.key,
    separator: source.keySeparator ?? defaultKeySeparator,
    ...(source.modified === undefined ? {} : { modified: { name: source.modified, read } }),
    optional: load === undefined ? [] : load.columns.map(({ name }) => name),
  };
}

function fieldsOf(file: FileRows): string[] {
  const required = [...file.keyColumns, ...(file.modified === undefined ? [] : [file.modified.name])];
  return fieldNames({ required, optional: file.optional });
}

/** @throws EE-700 when the resource is not configured with the table that is to be loaded. */
async function loadTable(
  work: SeedWork,
  source: FileSource,
  table: ResourceTable | undefined,
): Promise<ResourceTable> {
  const wanted = source.load ?? '';
  const [row] = await work.runtime.db.query<{ same: boolean | null }>({
    text: 'select to_regclass($1) = to_regclass($2) as same',
    values: [quoteTable(wanted), table?.quoted ?? ''],
  });
  if (table !== undefined && row?.same === true) return table;
  const has = table === undefined ? 'no table' : `table ${table.config.table}`;
  throw new PulsefeedError(
    'EE-700',
    `--load ${wanted}: resource ${source.resource} has ${has} in the configuration; records elsewhere would get no event.`,
  );
}

async function fill(
  work: SeedWork,
  stage: Stage,
  file: FileRows,
  faults: FaultList,
  skipBad: boolean,
): Promise<string[]> {
  let bytes = { done: 0, total: 0 };
  const rows = readRows(file, faults, (done, total) => {
    bytes = { done, total };
  });
  for await (const batch of rows) {
    if (work.signal?.aborted === true) {
      throw new PulsefeedError('EE-706', 'Stopped while the file was being read. Nothing was written.');
    }
    await stage.add(batch);
    work.onProgress({ phase: 'reading', ...bytes });
  }
  if (faults.count > 0 && !skipBad) throw faults.toError();
  return faults.count === 0 ? [] : [`${faults.count} records could not be used and were left out.`];
}

async function countStage(
  session: Session,
  stage: Stage,
  resource: string,
  place: { readonly level: number; readonly rank: number },
  faults: FaultList,
): Promise<SourceCount> {
  const keys = await session.transaction(tx => stage.countKeys(tx));
  return {
    resource,
    ...place,
    rows: stage.rows + faults.count,
    unusable: faults.count,
    duplicates: stage.rows - keys,
  };
}

async function writeStage(
  work: SeedWork,
  tx: Queryable,
  stage: Stage,
  plan: LoadPlan | undefined,
  source: FileSource,
  place: { readonly level: number; readonly rank: number },
) {
  const { resource } = source;
  const loading = plan !== undefined && !work.dryRun;
  const rows = loading ? await stage.load(tx) : 0;
  const linedUp = await lineUpOrPreview(work, tx, [{ resource, ...place, select: stage.select }]);
  if (loading) await forgetOwnInserts(tx, resource);
  return { linedUp, loaded: loading ? { table: plan.table.quoted, rows } : undefined };
}

/** Constraints that a whole row or several rows break: the database names the constraint, not the line. */
function loadFault(error: unknown, source: FileSource): unknown {
  if (source.load === undefined || sqlState(error)?.startsWith('23') !== true) return error;
  const { message, detail } = error as Error & { detail?: string };
  const text = `Nothing was written. --load ${source.load}: ${message}${detail === undefined ? '' : ` (${detail})`}`;
  return new PulsefeedError('EE-706', text, { cause: error });
}

async function missingRows(session: Session, stage: Stage, table: ResourceTable): Promise<string[]> {
  const missing = await session.transaction(tx => stage.withoutRow(tx, table));
  if (missing === 0) return [];
  return [
    `${missing} records of the file are not in ${table.config.table}: they get no event. Load them with --load ${table.config.table}.`,
  ];
}
