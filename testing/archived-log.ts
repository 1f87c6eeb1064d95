import { connect, type Db } from '../server/base/db/index.ts';
import {
  Archive,
  archiveStep,
  type EventLog,
  type MoveOptions,
  type MoveOutcome,
  openLog,
  openStore,
  type ReadQuery,
} from '../server/log/index.ts';
import { atTestEnd } from './cleanup.ts';
import { testDatabase } from './postgres.ts';
import { temporaryFolder } from './temporary-folder.ts';
import { buildWrittenLog, type WrittenPulse } from './written-log.ts';

/** A log that a test writes pulse by pulse, with an archive in a folder of its own. Closed when the test ends. */
export interface ArchivedLog {
  readonly url: string;
  readonly db: Db;
  readonly folder: string;
  readonly archive: Archive;
  readonly log: EventLog;
}

/** Opens one, empty. */
export async function archivedLog(): Promise<ArchivedLog> {
  const { url, drop } = await testDatabase({ template: buildWrittenLog, name: 'written' });
  atTestEnd(drop);
  const { path } = await temporaryFolder('archive');
  return openArchivedLog(url, path);
}

/** Opens another process's worth of it: with its own connections, and nothing read of the archive yet. */
export async function openArchivedLog(url: string, folder: string): Promise<ArchivedLog> {
  const db = await connect({ databaseUrl: url, dataDir: '', poolSize: 6, applicationName: 'under-test' });
  atTestEnd(() => db.close());
  return onDatabase(db, url, folder);
}

/** The same on a database that is open. */
export function onDatabase(db: Db, url: string, folder: string): ArchivedLog {
  const archive = new Archive(openStore(folder));
  return { url, db, folder, archive, log: openLog(db, undefined, archive) };
}

/** Moves one part of at most `rows` pulses, keeping the newest `keep` in the table. */
export function moveOnce(
  { db, archive }: Pick<ArchivedLog, 'db' | 'archive'>,
  { rows, keep, ...options }: { rows: number; keep: number } & Partial<MoveOptions>,
): Promise<MoveOutcome> {
  return archiveStep(db, archive, {
    window: { events: BigInt(keep) },
    rows,
    wholeParts: false,
    ...options,
  });
}

/** Moves all but the newest `keep` pulses in parts of `rows`; how many parts there were. */
export async function moveAll(
  log: Pick<ArchivedLog, 'db' | 'archive'>,
  rows: number,
  keep: number,
): Promise<number> {
  for (let parts = 0; parts < 10_000; parts += 1) {
    const outcome = await moveOnce(log, { rows, keep });
    if (outcome.kind === 'idle') return parts;
    if (outcome.kind === 'standby') throw new Error('somebody else compacts');
  }
  throw new Error('archiving does not end');
}

/** Who walks: a consumer by its number, or everyone. */
export type Walker = number | undefined;

/** How a walk asks. */
export interface WalkOptions {
  readonly after?: bigint;
  readonly pageSize?: number;
  /** Further condition over alias `e`; its pulses are then sought one by one. */
  readonly and?: string;
  readonly feedTypes?: boolean;
}

/** The query of one page. */
export function pageAfter(walker: Walker, after: bigint, options: WalkOptions = {}): ReadQuery {
  const { pageSize = 100, and, feedTypes = false } = options;
  return {
    where: { text: and === undefined ? 'e.seq > $1' : `e.seq > $1 and ${and}`, values: [after] },
    above: after,
    seekOnly: and === undefined,
    limit: pageSize,
    feedTypes,
    ...(walker === undefined
      ? {}
      : {
          held: first => ({
            text: `select feed_id from pulsefeed.consumer_feed where consumer_id = $${first}::integer`,
            values: [walker],
          }),
        }),
  };
}

/** Walks to the head by its last number; each pulse as `number resource key feeds`. @throws Error for a short page before it. */
export async function walk(log: EventLog, walker: Walker, options: WalkOptions = {}): Promise<string[]> {
  const { pageSize = 100 } = options;
  const met: string[] = [];
  for (let after = options.after ?? 0n; ; ) {
    const { pulses } = await log.read(pageAfter(walker, after, options));
    met.push(
      ...pulses.map(({ sequence, resource, key, feedTypes = [] }) =>
        [sequence, resource, key, ...feedTypes].join(' '),
      ),
    );
    const last = pulses.at(-1);
    if (last === undefined || pulses.length < pageSize) return met;
    if (last.sequence <= after) throw new Error('the walk stands still');
    after = last.sequence;
  }
}

/** Pulses over a tenth as many keys, shared, narrow and private ones, in a fixed but irregular order. */
export function mixedPulses(count: number): WrittenPulse[] {
  const sets = [[1], [1, 2], [2, 4], [1, 4, 5], [3], [6], [1, 2, 3], [5], [2, 7], [1, 6]];
  return Array.from({ length: count }, (_, index) => ({
    key: `k${(index * 7 + (index >> 3)) % Math.max(1, Math.floor(count / 10))}`,
    feeds: sets[(index * 3 + (index >> 2)) % sets.length] ?? [1],
  }));
}
