import type { Db } from '../server/base/db/index.ts';
import {
  type EventLog,
  isSwept,
  type RetireCheck,
  type RetireLag,
  type RetireOutcome,
  sweep,
  worthSweeping,
} from '../server/log/index.ts';

/** Pulses whose keys one step looks at: some tenths of a second on PostgreSQL, and a short hold of PGlite's session. */
export const stepSizes = { postgres: 20_000, pglite: 1_000 } as const;

/** How a run went. */
export interface CompactionResult {
  /** Transactions that changed the log or moved the watermark. */
  readonly steps: number;
  readonly examined: number;
  readonly dropped: number;
  readonly narrowed: number;
  /** The log is compact up to here; undefined when there was nothing to do. */
  readonly upTo: bigint | undefined;
}

/** What a run is given. */
export interface CompactOptions {
  readonly log: EventLog;
  /** The same log's database: with it a large backlog is swept, without it all goes step by step. */
  readonly db?: Db;
  readonly lag: RetireLag;
  readonly limit: number;
  /** Rests between two steps, given the milliseconds that the last one worked. */
  readonly rest: (workedMs: number) => Promise<void>;
  readonly now: () => number;
  readonly check?: RetireCheck;
  readonly signal?: AbortSignal;
  /** Told after each step how far it is and how far it is to go. */
  readonly onStep?: (result: CompactionResult, upTo: bigint, target: bigint) => void;
}

/**
 * Compacts up to the lag and returns, also when another process did it meanwhile. Stopped by the signal it ends after
 * the step in hand; the next run goes on from there.
 */
export async function compact(options: CompactOptions): Promise<CompactionResult> {
  const { log, db, lag, limit, rest, now, check, signal, onStep } = options;
  let result: CompactionResult = { steps: 0, examined: 0, dropped: 0, narrowed: 0, upTo: undefined };
  const tell = (part: Part, target: bigint) => {
    result = add(result, part);
    onStep?.(result, part.upTo, target);
  };
  let sweepsLeft = mostSweeps;
  while (signal?.aborted !== true) {
    if (db !== undefined && (await isSwept(db))) {
      await rest(standbyMs);
      continue;
    }
    const startedAt = now();
    // The first step is small: it says where the lag ends, and a sweep may do the rest.
    const step = result.steps === 0 && db !== undefined ? Math.min(limit, firstStep) : limit;
    const outcome = await log.retire({ lag, limit: step, ...(check === undefined ? {} : { check }) });
    if (outcome.kind === 'idle') break;
    if (outcome.kind === 'retired') {
      tell(outcome, outcome.target);
      if (outcome.upTo === outcome.target && 'events' in lag) break;
    }
    await rest(outcome.kind === 'standby' ? standbyMs : now() - startedAt);
    if (db === undefined || outcome.kind !== 'retired' || sweepsLeft === 0) continue;
    if (!(await worthSweeping(db, outcome))) continue;
    sweepsLeft -= 1;
    const { target } = outcome;
    const ended = await sweep({ ...options, db, target, onPart: part => tell(part, target) });
    if (ended === 'standby') await rest(standbyMs);
  }
  return result;
}

const standbyMs = 200;
const firstStep = 1_000;
/** Enough for one that was overtaken, and for what was written while it ran; after that the steps do it. */
const mostSweeps = 3;

type Part = Pick<Extract<RetireOutcome, { kind: 'retired' }>, 'examined' | 'dropped' | 'narrowed'> & {
  readonly upTo: bigint;
};

function add(result: CompactionResult, step: Part): CompactionResult {
  return {
    steps: result.steps + 1,
    examined: result.examined + step.examined,
    dropped: result.dropped + step.dropped,
    narrowed: result.narrowed + step.narrowed,
    upTo: step.upTo,
  };
}
