/**
 * The last numbers that were met, to tell a pulse that comes again from one that comes late.
 * Invariant: `#numbers` is ascending and holds at least the last `capacity` numbers added, at most twice as many; `#floor` is the
 * highest number of which nothing can be said any more.
 */
export class RecentNumbers {
  readonly #capacity: number;
  #numbers: bigint[] = [];
  #floor: bigint;

  /** `from` is the position of the walk: nothing can be said of numbers up to it. */
  constructor(capacity: number, from: bigint) {
    this.#capacity = capacity;
    this.#floor = from;
  }

  /** Adds a number, larger than all before. */
  add(number: bigint): void {
    this.#numbers.push(number);
    // Dropping half at once keeps this cheap; a Set that loses its oldest member each time scans its own gaps.
    if (this.#numbers.length < this.#capacity * 2) return;
    this.#floor = this.#numbers[this.#numbers.length - this.#capacity - 1] ?? this.#floor;
    this.#numbers = this.#numbers.slice(-this.#capacity);
  }

  /** True when the number is in the remembered range but was not met in it. False when it is too old to say. */
  wasSkipped(number: bigint): boolean {
    if (number <= this.#floor) return false;
    let low = 0;
    let high = this.#numbers.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#numbers[middle] ?? number) < number) low = middle + 1;
      else high = middle;
    }
    return this.#numbers[low] !== number;
  }

  /** Forgets everything: the walk starts again from the beginning. */
  restart(): void {
    this.#numbers = [];
    this.#floor = -1n;
  }
}
