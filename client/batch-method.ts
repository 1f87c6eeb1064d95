import type { BatchMethod } from './record-url.ts';

/**
 * How the records of one resource are asked for, as far as it was learned from refusals and omissions. State: `method` and
 * `size` are for the next batch; both only ever go down the ladder `in`, `or`, one by one.
 */
export class LearnedMethod {
  readonly #first: number;
  /** The largest batch that each method was seen to answer. */
  readonly #largest: Record<BatchMethod, number> = { in: 0, or: 0, key: 1 };
  method: BatchMethod;
  size: number;
  /** `Resource('key')` is not to be asked any more. */
  pathRefused = false;

  /** `size` is the batch to begin with. */
  constructor(size: number) {
    this.#first = size;
    this.size = size;
    this.method = size > 1 ? 'in' : 'key';
  }

  /** A batch was answered. */
  answered(method: BatchMethod, size: number): void {
    this.#largest[method] = Math.max(this.#largest[method], size);
  }

  /**
   * A batch was refused. `known`: the same was answered before, so one of its keys must be the reason; `stale`: another batch has
   * taught it already; `learned`: the next one goes another way.
   */
  refused(method: BatchMethod, size: number, status: number): 'known' | 'stale' | 'learned' {
    if (this.method !== method || size > this.size) return 'stale';
    const largest = this.#largest[method];
    if (size <= largest) return 'known';
    if (!TOO_LONG.has(status) && method === 'in' && largest === 0) {
      this.method = 'or';
      return 'learned';
    }
    this.size = Math.max(largest, Math.floor(size / 2));
    if (this.size < 2) this.method = method === 'in' ? 'or' : 'key';
    if (this.method === 'or' && method === 'in') this.size = this.#first;
    return 'learned';
  }

  /** Records were left out of a batch: a server that always gives at most n wastes the rest of each. */
  omitted(asked: number, omitted: number): void {
    if (omitted * 2 > asked && this.size >= asked) this.size = Math.max(1, asked - omitted);
  }

  /** The present way in words. */
  describe(): string {
    return this.method === 'key' ? 'one by one' : `by "${this.method}", ${this.size} at most`;
  }
}

const TOO_LONG = new Set([413, 414, 431]);
