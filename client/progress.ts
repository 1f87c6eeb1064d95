/** How far a replication is. Counts are of this run. */
export interface Progress {
  /** Pulses done. */
  readonly events: number;
  /** Records written, and records deleted. */
  readonly upserts: number;
  readonly deletes: number;
  /** Position, and the head of the source where it is known. */
  readonly last: bigint | undefined;
  readonly head: bigint | undefined;
  /** `head - last`: numbers, not pulses, since numbers may be hidden or compacted away. */
  readonly lag: bigint | undefined;
  /** Pulses a second over the last half minute or so. */
  readonly eventsPerSecond: number;
  /** Estimated from the rate at which numbers are passed; undefined while unknown. */
  readonly secondsLeft: number | undefined;
  readonly atHead: boolean;
}

/** Counts what is done and measures its rate. */
export class ProgressMeter {
  readonly #now: () => number;
  readonly #samples: { atMs: number; events: number; last: bigint }[] = [];
  #events = 0;
  #upserts = 0;
  #deletes = 0;

  constructor(now: () => number) {
    this.#now = now;
  }

  /** Adds what one batch has done. */
  add(events: number, upserts: number, deletes: number): void {
    this.#events += events;
    this.#upserts += upserts;
    this.#deletes += deletes;
  }

  /** The progress at this moment. */
  read(last: bigint | undefined, head: bigint | undefined, atHead: boolean): Progress {
    const atMs = this.#now();
    const position = last ?? 0n;
    const first = this.#samples[0];
    this.#samples.push({ atMs, events: this.#events, last: position });
    while (this.#samples.length > 2 && atMs - (this.#samples[0]?.atMs ?? atMs) > 30_000)
      this.#samples.shift();
    const seconds = first ? (atMs - first.atMs) / 1000 : 0;
    const eventsPerSecond = first && seconds > 0 ? (this.#events - first.events) / seconds : 0;
    const numbersPerSecond = first && seconds > 0 ? Number(position - first.last) / seconds : 0;
    const lag = head === undefined ? undefined : head > position ? head - position : 0n;
    const secondsLeft =
      lag === undefined || numbersPerSecond <= 0 ? undefined : Number(lag) / numbersPerSecond;
    const { length } = this.#samples;
    if (length > 500) this.#samples.splice(1, length - 250);
    return {
      events: this.#events,
      upserts: this.#upserts,
      deletes: this.#deletes,
      last,
      head,
      lag,
      eventsPerSecond,
      secondsLeft: atHead ? 0 : secondsLeft,
      atHead,
    };
  }
}
