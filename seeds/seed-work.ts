import type { Config } from '../server/base/config/index.ts';
import type { Queryable } from '../server/base/db/index.ts';
import {
  lineUp,
  previewLineUp,
  refreshStatistics,
  type SeedCount,
  type SeedPreview,
  type SeedRecords,
  waitingEntries,
} from '../server/log/seed.ts';
import type { Runtime } from '../server/runtime.ts';
import { type NumberedEntries, type NumberingPace, numberEntries } from './number-entries.ts';
import type { OnSeedProgress, SeedReport } from './seed-report.ts';
import type { SourceCount } from './table-records.ts';

/** What seeding needs of a runtime. */
export interface SeedRuntime extends Pick<Runtime, 'db' | 'log' | 'tables' | 'sequencer'> {
  readonly config: Pick<Config, 'resources'>;
}

/** What both ways of seeding work with. */
export interface SeedWork {
  readonly runtime: SeedRuntime;
  readonly onProgress: OnSeedProgress;
  readonly signal: AbortSignal | undefined;
  readonly dryRun: boolean;
  readonly pace: Pick<NumberingPace, 'chunkSize' | 'mostChunkSize'>;
  readonly now: () => number;
}

/** What lining up added, or would add. */
export interface LinedUp {
  readonly counts: readonly SeedCount[];
  readonly first: readonly SeedPreview[];
}

const previewRows = 10;
/** A second: what a change waits for its number while seeding runs, besides the step at hand. */
const liveEveryMs = 1_000;
const standbyMs = 5;
/** From here on the planner's picture of the log is wrong enough to renew it. */
const manyRecords = 10_000;

/** Lines up in `tx`, or counts what would be in a dry run. */
export async function lineUpOrPreview(
  work: SeedWork,
  tx: Queryable,
  records: readonly SeedRecords[],
): Promise<LinedUp> {
  work.onProgress({ phase: 'lining up', done: 0, total: 0 });
  if (work.dryRun) return previewLineUp(tx, records, previewRows);
  return { counts: await lineUp(tx, records), first: [] };
}

/** Records that were lined up before this run. */
export async function countWaiting(db: Queryable): Promise<number> {
  return (await waitingEntries(db)).reduce((sum, { count }) => sum + count, 0);
}

/** Numbers what is lined up; nothing in a dry run. */
export async function numberLinedUp(work: SeedWork, waiting: number): Promise<NumberedEntries> {
  if (work.dryRun) return { seeded: 0, passedOver: 0, finished: true };
  const { onProgress, runtime } = work;
  onProgress({ phase: 'numbering', done: 0, total: waiting });
  const sequencer = runtime.sequencer();
  try {
    const numbered = await numberEntries(
      sequencer,
      { ...work.pace, liveEveryMs, standbyMs },
      // Another run may have lined up more meanwhile.
      done => onProgress({ phase: 'numbering', done, total: Math.max(waiting, done) }),
      work.signal,
      work.now,
    );
    if (numbered.seeded >= manyRecords) await refreshStatistics(runtime.db);
    return numbered;
  } finally {
    await sequencer.close();
  }
}

/** Puts the report together; resources in the order of seeding. */
export async function toReport(
  work: SeedWork,
  startedAt: number,
  parts: {
    readonly counts: readonly SourceCount[];
    readonly linedUp: LinedUp;
    readonly resumed: number;
    readonly numbered: NumberedEntries;
    readonly bad?: SeedReport['bad'];
    readonly loaded?: SeedReport['loaded'] | undefined;
    readonly notes: readonly string[];
  },
): Promise<SeedReport> {
  const { head } = await work.runtime.log.head();
  const fresh = new Map(parts.linedUp.counts.map(({ resource, count }) => [resource, count]));
  return {
    dryRun: work.dryRun,
    resources: parts.counts
      .map(count => ({ ...count, fresh: fresh.get(count.resource) ?? 0 }))
      .sort((a, b) => a.level - b.level || a.rank - b.rank),
    resumed: parts.resumed,
    ...parts.numbered,
    head: String(head),
    seconds: (work.now() - startedAt) / 1000,
    first: parts.linedUp.first,
    bad: parts.bad ?? { count: 0, first: [] },
    ...(parts.loaded === undefined ? {} : { loaded: parts.loaded }),
    notes: parts.notes,
  };
}
