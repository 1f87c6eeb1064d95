import type { Db } from '../server/base/db/index.ts';
import type { Observe } from '../server/base/observe.ts';
import { type DropOutcome, dropTombstones } from '../server/log/index.ts';

/** What the loop works with. */
export interface TombstoneLoopOptions {
  readonly db: Db;
  readonly olderThanS: number;
  /** Pulses that one step looks at. */
  readonly limit: number;
  readonly observe: Observe;
  /** Milliseconds between looks when nothing is old enough, after a failure, and while somebody else works. */
  readonly idleMs?: number;
}

/**
 * Drops what is old enough until it is stopped. States: idle -> running -> stopping -> stopped. Any number of processes
 * may run one beside compaction: a lock lets one step at a time.
 */
export class TombstoneLoop {
  readonly #options: TombstoneLoopOptions;
  #stopping = false;
  #wake: (() => void) | undefined;
  #done: Promise<void> | undefined;

  constructor(options: TombstoneLoopOptions) {
    this.#options = options;
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
    const { db, olderThanS, limit, observe, idleMs = 30_000 } = this.#options;
    while (!this.#stopping) {
      const outcome = await dropTombstones(db, { olderThanS, limit }).catch((error: unknown): DropOutcome => {
        observe({ kind: 'CompactionFailed', error, retryMs: idleMs });
        return { kind: 'idle' };
      });
      const finished = outcome.kind !== 'dropped' || outcome.upTo === outcome.target;
      if (outcome.kind === 'dropped') {
        const { examined, dropped, upTo } = outcome;
        observe({ kind: 'TombstonesDropped', examined, dropped, upTo });
      }
      await this.#rest(finished ? idleMs : 0);
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
