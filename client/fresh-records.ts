import type { Pulse } from './page.ts';
import type { RecordRef } from './store.ts';

/**
 * Remembers up to which number each recent fetch shows all changes, so that later pulses up to it need no fetch: a log that
 * was never compacted names a record many times, and with the head known each is fetched once.
 * Invariant: at most `capacity` records, the most recently fetched ones; forgetting one only costs another fetch.
 */
export class FreshRecords {
  readonly #capacity: number;
  readonly #upTo = new Map<string, bigint>();

  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  /** True when a fetch that began after this pulse's number was known has been made. */
  covers(pulse: Pulse): boolean {
    const upTo = this.#upTo.get(name(pulse));
    return upTo !== undefined && pulse.sequence <= upTo;
  }

  /** Notes that a fetch of this record began when everything up to `upTo` had been numbered. */
  add(record: RecordRef, upTo: bigint): void {
    const key = name(record);
    this.#upTo.delete(key);
    this.#upTo.set(key, upTo);
    if (this.#upTo.size <= this.#capacity) return;
    const [oldest] = this.#upTo.keys();
    if (oldest !== undefined) this.#upTo.delete(oldest);
  }

  clear(): void {
    this.#upTo.clear();
  }
}

function name({ resource, key }: RecordRef): string {
  return `${resource} ${key}`;
}
