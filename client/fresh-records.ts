import type { Pulse } from './page.ts';
import type { RecordRef } from './store.ts';

/**
 * Remembers up to which number each recent fetch shows all changes, so that later pulses up to it need no fetch: a log that
 * was never compacted names a record many times, and with the head known each is fetched once.
 * Invariant: at least the last `capacity` records, at most twice as many; forgetting one only costs another fetch.
 */
export class FreshRecords {
  readonly #capacity: number;
  #young = new Generation();
  #old = new Generation();

  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  /** True when a fetch that began after this pulse's number was known has been made. */
  covers(pulse: Pulse): boolean {
    const upTo = this.#young.get(pulse) ?? this.#old.get(pulse);
    return upTo !== undefined && pulse.sequence <= upTo;
  }

  /** Notes that a fetch of this record began when everything up to `upTo` had been numbered. */
  add(record: RecordRef, upTo: bigint): void {
    this.#young.set(record, upTo);
    // Forgetting half at once: a Map that loses its oldest entry each time scans its own gaps.
    if (this.#young.size < this.#capacity) return;
    this.#old = this.#young;
    this.#young = new Generation();
  }

  clear(): void {
    this.#young = new Generation();
    this.#old = new Generation();
  }
}

/** Maps by resource and key: no string is made of the two. */
class Generation {
  readonly #byResource = new Map<string, Map<string, bigint>>();
  size = 0;

  get({ resource, key }: RecordRef): bigint | undefined {
    return this.#byResource.get(resource)?.get(key);
  }

  set({ resource, key }: RecordRef, upTo: bigint): void {
    const map = this.#byResource.get(resource) ?? new Map<string, bigint>();
    this.#byResource.set(resource, map);
    this.size -= map.size;
    map.set(key, upTo);
    this.size += map.size;
  }
}
