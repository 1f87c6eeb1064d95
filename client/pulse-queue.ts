import type { Pulse } from './page.ts';
import type { Step } from './walk.ts';

/** Pulses in hand: taken together, fetched together, and done when the cursor stands at `last`. */
export interface Window {
  readonly kind: 'window';
  readonly pulses: readonly Pulse[];
  readonly last: bigint | undefined;
  readonly atHead: boolean;
}

/** What `take` gives: a window, a start from the beginning, or the end of the walk. */
export type Taken = Window | { readonly kind: 'reset' } | { readonly kind: 'end' };

/**
 * Holds pages that were read ahead. The producer waits while `capacity` pulses are held, so memory stays bounded however slow
 * the fetching is; the consumer takes everything there is up to its limit, so pulses of one record fold.
 *
 * State: `items` in the order of the walk; `closed` once the walk has ended or failed, after which items are still taken.
 */
export class PulseQueue {
  readonly #capacity: number;
  readonly #items: Step[] = [];
  #held = 0;
  #taken = 0;
  #last: bigint | undefined;
  #closed = false;
  #error: unknown;
  #wake: (() => void)[] = [];

  /** `last` is the position before the first item. */
  constructor(capacity: number, last: bigint | undefined) {
    this.#capacity = capacity;
    this.#last = last;
  }

  /** Reads the walk into the queue until it ends; an error is given to the consumer after the items before it. Never rejects. */
  async fill(steps: AsyncIterable<Step>): Promise<void> {
    try {
      for await (const step of steps) {
        this.#items.push(step);
        if (step.kind === 'pulses') this.#held += step.pulses.length;
        this.#notify();
        while (this.#held >= this.#capacity && !this.#closed) await this.#changed();
        if (this.#closed) return;
      }
    } catch (error) {
      this.#error = error;
    }
    this.close();
  }

  /** Lets a waiting producer and consumer go; nothing is added any more. */
  close(): void {
    this.#closed = true;
    this.#notify();
  }

  /** Waits for something and takes up to `limit` pulses. @throws what the walk threw, once everything before it was taken. */
  async take(limit: number): Promise<Taken> {
    while (this.#items.length === 0 && !this.#closed) await this.#changed();
    const [first] = this.#items;
    if (!first) {
      if (this.#error !== undefined) throw this.#error;
      return { kind: 'end' };
    }
    if (first.kind === 'reset') {
      this.#items.shift();
      this.#last = undefined;
      return { kind: 'reset' };
    }
    return this.#takeWindow(limit);
  }

  #takeWindow(limit: number): Window {
    const pulses: Pulse[] = [];
    let atHead = false;
    for (let item = this.#items[0]; item?.kind === 'pulses' && pulses.length < limit; item = this.#items[0]) {
      const end = Math.min(item.pulses.length, this.#taken + limit - pulses.length);
      for (; this.#taken < end; this.#taken++) {
        const pulse = item.pulses[this.#taken];
        if (!pulse) break;
        pulses.push(pulse);
        // A repeated pulse has a number below the position, which never falls.
        if (this.#last === undefined || pulse.sequence > this.#last) this.#last = pulse.sequence;
      }
      if (this.#taken < item.pulses.length) break;
      this.#items.shift();
      this.#taken = 0;
      this.#last = item.last ?? this.#last;
      atHead = item.atHead;
      if (atHead) break;
    }
    this.#held -= pulses.length;
    this.#notify();
    return { kind: 'window', pulses, last: this.#last, atHead };
  }

  #changed(): Promise<void> {
    return new Promise(resolve => this.#wake.push(resolve));
  }

  #notify(): void {
    const wake = this.#wake;
    this.#wake = [];
    for (const resolve of wake) resolve();
  }
}
