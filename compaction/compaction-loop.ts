import type { Observe } from '../server/base/observe.ts';
import type { EventLog, RetireLag } from '../server/log/index.ts';

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
  #stopping = false;
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
    this.#stopping = true;
    this.#wake?.();
    await this.#done;
  }

  async #run(): Promise<void> {
    while (!this.#stopping) await this.#rest(await this.#step());
  }

  /** Milliseconds to rest before the next step. */
  async #step(): Promise<number> {
    const { log, lag, limit, observe, now } = this.#options;
    const startedAt = now();
    try {
      const outcome = await log.retire({ lag, limit });
      if (outcome.kind === 'standby') return this.#pace.standbyMs;
      if (outcome.kind === 'idle') {
        const pause = this.#idleMs;
        this.#idleMs = Math.min(2 * pause, this.#pace.idleMostMs);
        return pause;
      }
      const ms = now() - startedAt;
      const { examined, dropped, narrowed, upTo, target } = outcome;
      observe({ kind: 'Compacted', examined, dropped, narrowed, upTo, ms });
      this.#idleMs = this.#pace.idleMs;
      return upTo === target ? this.#pace.idleMs : ms * this.#pace.restFactor;
    } catch (error) {
      observe({ kind: 'CompactionFailed', error, retryMs: this.#pace.failureMs });
      return this.#pace.failureMs;
    }
  }

  #rest(ms: number): Promise<void> {
    if (this.#stopping) return Promise.resolve();
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
