import type { ResourceTable } from '../base/catalog/index.ts';
import { type Db, quoteIdentifier } from '../base/db/index.ts';
import { PulsefeedError } from '../base/errors.ts';
import {
  type LiveWalk,
  type ReconciledChunk,
  type RecordSource,
  reconcileLive,
  reconcileStored,
} from '../log/index.ts';
import { modifiedColumn } from './modified-column.ts';

/** What reconciling works with. */
export interface ReconcileParts {
  readonly db: Db;
  readonly tables: readonly ResourceTable[];
  /** Under the rules in force. */
  readonly sources: readonly RecordSource[];
}

/** What is to be compared. */
export interface ReconcileOptions {
  /** ResourceNames; all configured resources that have a table when absent. */
  readonly resources?: readonly string[];
  /** Compare and count, write nothing. */
  readonly dryRun?: boolean;
  /** See `defaultMarginMs`. */
  readonly marginMs?: number;
  /** Only records modified at or after this moment are compared by time. */
  readonly since?: Date;
  /** Keys in one statement. */
  readonly chunkSize?: number;
  readonly onProgress?: (progress: ReconcileProgress) => void;
}

export interface ReconcileProgress {
  readonly resource: string;
  readonly phase: 'live' | 'stored';
  /** Rows looked at in this phase so far. */
  readonly seen: number;
}

/** What was found on one resource, and written unless it was a dry run. */
export interface ReconcileResult {
  readonly resource: string;
  readonly table: string;
  /** Live rows and stored records looked at. */
  readonly live: number;
  readonly stored: number;
  /** Records that had no pulse. */
  readonly fresh: number;
  /** Records that are gone. */
  readonly gone: number;
  /** Records whose parents or feeds changed. */
  readonly moved: number;
  /** Records modified since their last pulse, or within the margin of it. */
  readonly modified: number;
  /** Rows whose key is longer than the feed carries; they are left out. */
  readonly tooLong: number;
  /** Some of the keys that differ. */
  readonly sample: readonly string[];
  /** What could not be seen, and what was assumed. */
  readonly notes: readonly string[];
}

/**
 * Ten minutes. The time in a modified column is when the change was made, not when it was committed, and comes from
 * the clock of whoever wrote it. A record that was modified less than this before its last pulse is pulsed once
 * more: a superfluous fetch, where a smaller margin could lose a change that a long transaction or a wrong clock hid.
 */
export const defaultMarginMs = 600_000;

const defaultChunkSize = 10_000;

/**
 * Closes gaps in capture: compares the tables with what the log knows and puts what is new, gone, moved or modified
 * into the outbox, from where the sequencer pulses it. Safe beside running writers and sequencers, and safe to
 * interrupt and repeat.
 * @throws EE-705 when a named resource is not configured or has no table.
 */
export async function reconcile(
  parts: ReconcileParts,
  options: ReconcileOptions = {},
): Promise<ReconcileResult[]> {
  const named = options.resources ?? parts.tables.map(({ config }) => config.name);
  const results: ReconcileResult[] = [];
  for (const name of named) {
    const table = parts.tables.find(({ config }) => config.name === name);
    const live = parts.sources.find(({ resource }) => resource === name)?.live;
    if (table === undefined || live === undefined) {
      throw new PulsefeedError('EE-705', `Resource ${name} is not configured with a table.`);
    }
    results.push(await reconcileTable(parts.db, table, live, options));
  }
  return results;
}

async function reconcileTable(
  db: Db,
  table: ResourceTable,
  live: NonNullable<RecordSource['live']>,
  options: ReconcileOptions,
): Promise<ReconcileResult> {
  const { note } = modifiedColumn(table);
  const walk = liveWalk(table, live);
  const window = {
    marginMs: options.marginMs ?? defaultMarginMs,
    ...(options.since === undefined ? {} : { since: options.since }),
  };
  const limit = options.chunkSize ?? defaultChunkSize;
  const write = options.dryRun !== true;
  const report = (phase: ReconcileProgress['phase']) => (seen: number) =>
    options.onProgress?.({ resource: table.config.name, phase, seen });
  const forward = await walkAll(
    after => reconcileLive(db, walk, window, { after, limit, write }),
    report('live'),
  );
  const backward = await walkAll(
    after => reconcileStored(db, walk, { after, limit, write }),
    report('stored'),
  );
  return {
    resource: table.config.name,
    table: table.config.table,
    live: forward.seen,
    stored: backward.seen,
    fresh: forward.fresh,
    gone: backward.gone,
    moved: forward.moved,
    modified: forward.modified,
    tooLong: forward.tooLong,
    sample: [...forward.sample, ...backward.sample].slice(0, 5),
    notes: note === undefined ? [] : [note],
  };
}

/** How the log is to walk a table. */
export function liveWalk(table: ResourceTable, live: NonNullable<RecordSource['live']>): LiveWalk {
  const { sql } = modifiedColumn(table);
  return {
    resource: table.config.name,
    live,
    keyColumn: `t.${quoteIdentifier(table.key.name)}`,
    keyType: table.key.type,
    ...(sql === undefined ? {} : { modified: sql }),
  };
}

/** Adds the chunks up, from the first key to the last. */
async function walkAll(
  next: (after: string | null) => Promise<ReconciledChunk>,
  report: (seen: number) => void,
): Promise<ReconciledChunk> {
  let sum = await next(null);
  report(sum.seen);
  while (sum.next !== null) {
    const chunk = await next(sum.next);
    sum = {
      seen: sum.seen + chunk.seen,
      fresh: sum.fresh + chunk.fresh,
      gone: sum.gone + chunk.gone,
      moved: sum.moved + chunk.moved,
      modified: sum.modified + chunk.modified,
      tooLong: sum.tooLong + chunk.tooLong,
      sample: [...sum.sample, ...chunk.sample].slice(0, 5),
      next: chunk.next,
    };
    report(sum.seen);
  }
  return sum;
}
