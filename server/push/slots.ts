/** How much is sent at the same time. */
export interface SlotLimits {
  /** In this process. */
  readonly slots: number;
  /** To one host and port. */
  readonly perHost: number;
  /** Requests a minute to one host and port from this process; 0: no cap. */
  readonly hostPerMinute: number;
}

/** Who takes a slot: endpoints that fail or are slow get half of them at most, so that the others always have room. */
export interface SlotUser {
  readonly host: string;
  readonly troubled: boolean;
}

interface Host {
  busy: number;
  nextAt: number;
}

/** Counts what is under way. */
export class Slots {
  readonly #limits: SlotLimits;
  readonly #now: () => number;
  readonly #hosts = new Map<string, Host>();
  #busy = 0;
  #troubled = 0;

  constructor(limits: SlotLimits, now: () => number) {
    this.#limits = limits;
    this.#now = now;
  }

  get busy(): number {
    return this.#busy;
  }

  get free(): number {
    return this.#limits.slots - this.#busy;
  }

  /** Takes a slot, or says that there is none. */
  take({ host, troubled }: SlotUser): boolean {
    const { slots, perHost, hostPerMinute } = this.#limits;
    const known = this.#hosts.get(host) ?? { busy: 0, nextAt: 0 };
    const now = this.#now();
    if (this.#busy >= slots || known.busy >= perHost || known.nextAt > now) return false;
    if (troubled && this.#troubled >= Math.max(1, Math.floor(slots / 2))) return false;
    this.#busy += 1;
    if (troubled) this.#troubled += 1;
    known.busy += 1;
    if (hostPerMinute > 0) known.nextAt = Math.max(known.nextAt, now - 1_000) + 60_000 / hostPerMinute;
    this.#hosts.set(host, known);
    return true;
  }

  /** Gives a slot back. @param unused It was taken and nothing was sent. */
  give({ host, troubled }: SlotUser): void {
    this.#busy -= 1;
    if (troubled) this.#troubled -= 1;
    const known = this.#hosts.get(host);
    if (known === undefined) return;
    known.busy -= 1;
    if (known.busy === 0 && known.nextAt <= this.#now()) this.#hosts.delete(host);
  }
}
