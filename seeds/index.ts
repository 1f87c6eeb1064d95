import type { FileSource } from './file-source.ts';
import { seedFile } from './from-file.ts';
import { seedTables } from './from-tables.ts';
import type { OnSeedProgress, SeedReport } from './seed-report.ts';
import type { SeedRuntime, SeedWork } from './seed-work.ts';

/** What to seed from and how. */
export interface SeedOptions {
  /** A file; the configured tables when absent. */
  readonly file?: FileSource;
  /** Count, order and show the first records; write nothing. */
  readonly dryRun?: boolean;
  /** Leave records of a file out that cannot be used, instead of refusing the file. */
  readonly skipBad?: boolean;
  /** Where each record that cannot be used is written to, as JSON lines. */
  readonly badFile?: string;
  /** Ends the run after the step at hand; what is lined up is numbered by the next run. */
  readonly signal?: AbortSignal;
  /** Records in one step at most; it is found by trying when absent. */
  readonly chunkSize?: number;
  /** Milliseconds, for measuring only; the clock of the process when absent. */
  readonly now?: () => number;
}

/**
 * Gives every record that has no event its first one, in an order that two runs on the same records share: level
 * (parents first), time of the last change (none first), rank of the resource, key byte by byte. Killed anywhere and
 * run again, it goes on: nothing is doubled or lost. Safe while the provider writes and servers number.
 *
 * Capture is not installed here; a change made between lining up and installing it later would be missed.
 * @throws EE-706 when a file cannot be used, EE-700 when it does not fit the configuration, EE-301 when the log was
 * set up with other resources.
 */
export async function seed(
  runtime: SeedRuntime,
  options: SeedOptions = {},
  onProgress: OnSeedProgress = () => undefined,
): Promise<SeedReport> {
  const work: SeedWork = {
    runtime,
    onProgress,
    signal: options.signal,
    dryRun: options.dryRun === true,
    pace:
      options.chunkSize === undefined
        ? paces[runtime.db.engine]
        : { chunkSize: options.chunkSize, mostChunkSize: options.chunkSize },
    now: options.now ?? (() => performance.now()),
  };
  return options.file === undefined
    ? seedTables(work)
    : seedFile(work, options.file, { skipBad: options.skipBad === true, badFile: options.badFile });
}

/** PGlite works in the memory of this process, and holds it up for as long as a step takes. */
const paces = {
  postgres: { chunkSize: 50_000, mostChunkSize: 100_000 },
  pglite: { chunkSize: 5_000, mostChunkSize: 5_000 },
} as const;

export type { FileSource } from './file-source.ts';
export type { OnSeedProgress, ResourceReport, SeedProgress, SeedReport } from './seed-report.ts';
export type { SeedRuntime } from './seed-work.ts';
