/**
 * The last numbers that were met, to tell a pulse that comes again from one that comes late.
 * Invariant: holds at most `capacity` numbers, the most recently added ones; `#floor` is the highest that was forgotten.
 */
export class RecentNumbers {
  readonly #capacity: number;
  readonly #numbers = new Set<bigint>();
  #floor: bigint;

  /** `from` is the position of the walk: nothing can be said of numbers up to it. */
  constructor(capacity: number, from: bigint) {
    this.#capacity = capacity;
    this.#floor = from;
  }

  add(number: bigint): void {
    this.#numbers.add(number);
    if (this.#numbers.size <= this.#capacity) return;
    const [oldest] = this.#numbers;
    if (oldest === undefined) return;
    this.#numbers.delete(oldest);
    this.#floor = oldest;
  }

  /** True when the number is in the remembered range but was not met in it. False when it is too old to say. */
  wasSkipped(number: bigint): boolean {
    return number > this.#floor && !this.#numbers.has(number);
  }

  /** Forgets everything: the walk starts again from the beginning. */
  restart(): void {
    this.#numbers.clear();
    this.#floor = -1n;
  }
}
