import type { Db } from '../server/base/db/index.ts';
import type { Observe } from '../server/base/observe.ts';
import {
  type EventLog,
  isSwept,
  type RetireLag,
  type RetireOutcome,
  type SweptPart,
  sweep,
  worthSweeping,
} from '../server/log/index.ts';

/** How long the loop rests. */
export interface CompactionPace {
  /** Rest after a step, as a multiple of the time it worked: 1 leaves half of the time to readers and writers. */
  readonly restFactor: number;
  /** When everything up to the lag is compact; doubles up to `idleMostMs`. */
  readonly idleMs: number;
  readonly idleMostMs: number;
  readonly standbyMs: number;
  readonly failureMs: number;
}

export const defaultCompactionPace: CompactionPace = {
  restFactor: 1,
  idleMs: 1_000,
  idleMostMs: 30_000,
  standbyMs: 5_000,
  failureMs: 5_000,
};

/** What the loop works with. */
export interface CompactionLoopOptions {
  readonly log: EventLog;
  /** The same log's database: with it a large backlog is swept, without it all goes step by step. */
  readonly db?: Db;
  readonly lag: RetireLag;
  /** Pulses whose keys one step looks at. */
  readonly limit: number;
  readonly observe: Observe;
  readonly now: () => number;
  readonly pace?: CompactionPace;
}

/**
 * Keeps the log compact up to the lag. States: idle -> running -> stopping -> stopped. Any number of processes may run
 * one: the watermark's lock lets one step at a time.
 */
export class CompactionLoop {
  readonly #options: CompactionLoopOptions;
  readonly #pace: CompactionPace;
  #idleMs: number;
  readonly #stopped = new AbortController();
  #wake: (() => void) | undefined;
  #done: Promise<void> | undefined;

  constructor(options: CompactionLoopOptions) {
    this.#options = options;
    this.#pace = options.pace ?? defaultCompactionPace;
    this.#idleMs = this.#pace.idleMs;
  }

  start(): void {
    this.#done ??= this.#run();
  }

  /** Resolves when the step in hand has ended. */
  async stop(): Promise<void> {
    this.#stopped.abort();
    this.#wake?.();
    await this.#done;
  }

  async #run(): Promise<void> {
    while (!this.#stopped.signal.aborted) await this.#rest(await this.#step());
  }

  /** Milliseconds to rest before the next step. */
  async #step(): Promise<number> {
    const { log, db, lag, limit, observe, now } = this.#options;
    const startedAt = now();
    try {
      if (db !== undefined && (await isSwept(db))) return this.#pace.standbyMs;
      const outcome = await log.retire({ lag, limit });
      if (outcome.kind === 'standby') return this.#pace.standbyMs;
      if (outcome.kind === 'idle') {
        const pause = this.#idleMs;
        this.#idleMs = Math.min(2 * pause, this.#pace.idleMostMs);
        return pause;
      }
      const ms = now() - startedAt;
      this.#tell(outcome, ms);
      this.#idleMs = this.#pace.idleMs;
      if (outcome.upTo === outcome.target) return this.#pace.idleMs;
      if (db !== undefined && (await worthSweeping(db, outcome))) return await this.#sweep(db, outcome);
      return ms * this.#pace.restFactor;
    } catch (error) {
      observe({ kind: 'CompactionFailed', error, retryMs: this.#pace.failureMs });
      return this.#pace.failureMs;
    }
  }

  /** Sweeps at the same pace as it steps; milliseconds to rest afterwards. */
  async #sweep(db: Db, { target }: Extract<RetireOutcome, { kind: 'retired' }>): Promise<number> {
    let worked = 0;
    const ended = await sweep({
      db,
      target,
      now: this.#options.now,
      signal: this.#stopped.signal,
      rest: ms => {
        worked = ms;
        return this.#rest(ms * this.#pace.restFactor);
      },
      onPart: part => this.#tell(part, worked),
    });
    return ended === 'swept' || ended === 'idle' ? this.#pace.idleMs : this.#pace.standbyMs;
  }

  #tell({ examined, dropped, narrowed, upTo }: SweptPart, ms: number): void {
    this.#options.observe({ kind: 'Compacted', examined, dropped, narrowed, upTo, ms });
  }

  #rest(ms: number): Promise<void> {
    if (this.#stopped.signal.aborted) return Promise.resolve();
    return new Promise(resolve => {
      const finish = () => {
        clearTimeout(timer);
        this.#wake = undefined;
        resolve();
      };
      const timer = setTimeout(finish, ms);
      this.#wake = finish;
    });
  }
}
