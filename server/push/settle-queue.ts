import type { Observe } from '../base/observe.ts';
import type { Settled } from './settle-sql.ts';

/** The most that one statement settles. */
const mostAtOnce = 200;
const retryMs = 200;
/** Statements under way at a time: while one waits for the disk the next one is gathered and begun. */
const mostStatements = 3;

/** A try that was written; `goesOn` when its next batch was claimed with it. */
export interface Written {
  readonly goesOn: boolean;
}

interface Waiting {
  readonly settled: Settled;
  readonly done: (written: Written | undefined) => void;
  readonly giveUpAt: number;
}

/**
 * Gathers what tries came to while a statement is under way and writes it with the next one: a database transaction is
 * shared by all that ended meanwhile. What cannot be written before its lease is over is dropped: it will be claimed again.
 */
export class SettleQueue {
  readonly #write: (tries: readonly Settled[]) => Promise<ReadonlyMap<string, Written>>;
  readonly #observe: Observe;
  readonly #now: () => number;
  #waiting: Waiting[] = [];
  #running = 0;

  constructor(
    write: (tries: readonly Settled[]) => Promise<ReadonlyMap<string, Written>>,
    observe: Observe,
    now: () => number,
  ) {
    this.#write = write;
    this.#observe = observe;
    this.#now = now;
  }

  /** Resolves when it is written, with undefined when it was refused or could not be. @param leaseMs How long it may take. */
  add(settled: Settled, leaseMs: number): Promise<Written | undefined> {
    return new Promise(resolve => {
      this.#waiting.push({ settled, done: resolve, giveUpAt: this.#now() + leaseMs });
      if (this.#running < mostStatements) void this.#run();
    });
  }

  async #run(): Promise<void> {
    this.#running += 1;
    // What ended in the same turn of the event loop goes together.
    await new Promise(resolve => setImmediate(resolve));
    while (this.#waiting.length > 0) {
      const batch = this.#waiting.splice(0, mostAtOnce);
      try {
        const written = await this.#write(batch.map(({ settled }) => settled));
        for (const { settled, done } of batch) done(written.get(settled.id));
      } catch (error) {
        this.#observe({ kind: 'PushFailed', error, retryMs });
        const now = this.#now();
        for (const { done } of batch.filter(({ giveUpAt }) => giveUpAt <= now)) done(undefined);
        this.#waiting.unshift(...batch.filter(({ giveUpAt }) => giveUpAt > now));
        await new Promise(resolve => setTimeout(resolve, retryMs));
      }
    }
    this.#running -= 1;
  }
}
