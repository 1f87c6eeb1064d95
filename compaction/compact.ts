import type { EventLog, RetireCheck, RetireLag, RetireOutcome } from '../server/log/index.ts';

/** Pulses whose keys one step looks at: some tenths of a second on PostgreSQL, and a short hold of PGlite's session. */
export const stepSizes = { postgres: 20_000, pglite: 1_000 } as const;

/** How a run went. */
export interface CompactionResult {
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
  const { log, lag, limit, rest, now, check, signal, onStep } = options;
  let result: CompactionResult = { steps: 0, examined: 0, dropped: 0, narrowed: 0, upTo: undefined };
  while (signal?.aborted !== true) {
    const startedAt = now();
    const outcome = await log.retire({ lag, limit, ...(check === undefined ? {} : { check }) });
    if (outcome.kind === 'idle') break;
    if (outcome.kind === 'retired') {
      result = add(result, outcome);
      onStep?.(result, outcome.upTo, outcome.target);
      if (outcome.upTo === outcome.target && 'events' in lag) break;
    }
    await rest(outcome.kind === 'standby' ? standbyMs : now() - startedAt);
  }
  return result;
}

const standbyMs = 200;

function add(result: CompactionResult, step: Extract<RetireOutcome, { kind: 'retired' }>): CompactionResult {
  return {
    steps: result.steps + 1,
    examined: result.examined + step.examined,
    dropped: result.dropped + step.dropped,
    narrowed: result.narrowed + step.narrowed,
    upTo: step.upTo,
  };
}
