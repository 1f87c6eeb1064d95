import type { Db } from '../base/db/index.ts';
import type { Observe } from '../base/observe.ts';
import { type Claimed, claim } from './claim-sql.ts';
import { decideUnsettled } from './decide.ts';
import {
  type Delivered,
  type DeliveryParts,
  deliver,
  OpenSecrets,
  settledOf,
  triedOf,
  webhookId,
} from './deliver.ts';
import type { Due } from './due-sql.ts';
import { isSuspect, type Planned } from './plan-batches.ts';
import { SettleQueue } from './settle-queue.ts';
import { type Settled, settle } from './settle-sql.ts';
import { type SlotLimits, Slots, type SlotUser } from './slots.ts';

/** What deliveries are made with. */
export interface DeliveriesParts extends DeliveryParts {
  readonly db: Db;
  readonly observe: Observe;
  readonly name: string;
  readonly limits: SlotLimits;
  readonly leaseMs: number;
  readonly monotonic: () => number;
  /** Under which id this worker claims now. */
  readonly workerId: () => bigint;
  /** Told when a delivery has begun, and when one has ended. */
  readonly began: (subscriptionId: string) => void;
  readonly ended: () => void;
}

const ownFaultMs = 5_000;

/** How old what was read may be when a batch is claimed from it: who may see what was resolved then. */
const freshMs = 1_000;

type Ended = Pick<Delivered, 'settled' | 'bytes' | 'ms'>;

/** What a claim that goes on from a delivered batch begins with. */
const anew = {
  attempt: 1,
  unsettled: 1,
  rejections: 0,
  failures: 0,
  failingForS: 0,
  tokenRefreshed: false,
} as const;

/**
 * The deliveries of one worker. Invariants: nothing is sent before its claim is in the database; a subscription has one
 * delivery under way at most; never more than the slots. States: running -> closing (claims nothing more) -> left (writes nothing more).
 */
export class Deliveries {
  readonly #parts: DeliveriesParts;
  readonly #secrets = new OpenSecrets();
  readonly #slots: Slots;
  readonly #settles: SettleQueue;
  readonly #underWay = new Map<string, Promise<void>>();
  #state: 'running' | 'closing' | 'left' = 'running';
  #delivered = 0;

  constructor(parts: DeliveriesParts) {
    this.#parts = parts;
    this.#slots = new Slots(parts.limits, parts.monotonic);
    this.#settles = new SettleQueue(
      tries => settle(parts.db, parts.workerId(), parts.leaseMs, tries),
      parts.observe,
      parts.monotonic,
    );
  }

  get free(): number {
    return this.#slots.free;
  }

  get busy(): number {
    return this.#slots.busy;
  }

  /** Batches that endpoints took. */
  get delivered(): number {
    return this.#delivered;
  }

  underWay(subscriptionId: string): boolean {
    return this.#underWay.has(subscriptionId);
  }

  /**
   * Claims what there is room for and begins it.
   * @param readAt When the batches were read, by the monotonic clock.
   * @returns false when room was wanting.
   */
  async begin(planned: readonly Planned[], readAt: number): Promise<boolean> {
    if (this.#state !== 'running') return false;
    const taken = planned.filter(({ due }) => this.#slots.take(userOf(due)));
    if (taken.length === 0) return planned.length === 0;
    let claimed: readonly Claimed[] = [];
    try {
      const wanted = taken.map(one => one.wanted);
      claimed = await claim(this.#parts.db, this.#parts.workerId(), this.#parts.leaseMs, wanted);
    } finally {
      const granted = new Map(claimed.map(one => [one.id, one]));
      for (const one of taken) {
        const grant = granted.get(one.due.id);
        if (grant === undefined) this.#slots.give(userOf(one.due));
        else this.#start(one, grant, readAt);
      }
    }
    return taken.length === planned.length;
  }

  /** Begins nothing more; resolves when all has ended, or after `graceMs`, and then writes nothing more. */
  async close(graceMs: number): Promise<void> {
    this.#state = 'closing';
    let timer: NodeJS.Timeout | undefined;
    const patience = new Promise<void>(resolve => {
      timer = setTimeout(resolve, graceMs);
    });
    await Promise.race([Promise.all(this.#underWay.values()), patience]);
    clearTimeout(timer);
    this.#state = 'left';
  }

  #start(planned: Planned, claimed: Claimed, readAt: number): void {
    this.#parts.began(claimed.id);
    const work = this.#run(planned, claimed, readAt).finally(() => {
      this.#slots.give(userOf(planned.due));
      this.#underWay.delete(claimed.id);
      this.#parts.ended();
    });
    this.#underWay.set(claimed.id, work);
  }

  /** Delivers a batch, and those behind it that are claimed as it is settled. Never throws. */
  async #run(first: Planned, granted: Claimed, readAt: number): Promise<void> {
    let planned: Planned | undefined = first;
    let claimed = granted;
    while (planned !== undefined) {
      const ended = await this.#try(planned, claimed);
      if (this.#state === 'left') return;
      const fresh = this.#parts.monotonic() - readAt < freshMs && this.#state === 'running';
      const next: Planned | undefined = fresh ? nextOf(planned, ended.settled, claimed) : undefined;
      const settled = { ...ended.settled, next: next?.wanted };
      const written = await this.#settles.add(settled, this.#parts.leaseMs);
      this.#tell(claimed, { ...ended, settled }, written !== undefined);
      if (next === undefined || written?.goesOn !== true) return;
      const { cursor, hi, count } = next.wanted;
      claimed = { ...claimed, ...anew, token: claimed.token + 1n, cursor, hi, count };
      planned = next;
    }
  }

  /** One POST; what cannot be sent for a fault of ours is settled as one that waits. */
  async #try(planned: Planned, claimed: Claimed): Promise<Ended> {
    if (isSuspect(planned.due)) {
      const settlement = decideUnsettled(triedOf(planned, claimed, undefined));
      return { settled: settledOf(planned, claimed, settlement, undefined, 0, 0), bytes: 0, ms: 0 };
    }
    try {
      return await deliver(this.#parts, this.#secrets, planned, claimed);
    } catch (error) {
      this.#parts.observe({ kind: 'PushFailed', error, retryMs: ownFaultMs });
      return { settled: ownFault(planned, claimed), bytes: 0, ms: 0 };
    }
  }

  #tell(claimed: Claimed, { settled, bytes, ms }: Ended, written: boolean): void {
    const { observe, name } = this.#parts;
    const { settlement, attempt } = settled;
    if (written && settlement.outcome === 'delivered') this.#delivered += 1;
    observe({
      kind: 'PushAttempted',
      subscription: claimed.id,
      worker: name,
      outcome: written ? settlement.outcome : 'fenced',
      status: attempt.status,
      webhookId: webhookId(claimed),
      attempt: attempt.attempt,
      events: attempt.events,
      bytes,
      upTo: attempt.upTo,
      ms,
    });
    if (written && settlement.state !== 'active') {
      const { state, reason = '' } = settlement;
      observe({ kind: 'PushStopped', subscription: claimed.id, state, reason });
    }
  }
}

/** The batch to go on with: only after a delivery without any trouble, and without a cap on the rate. */
function nextOf(planned: Planned, { settlement }: Settled, claimed: Claimed): Planned | undefined {
  const { outcome, batchLimit, suspectHi } = settlement;
  const plain = outcome === 'delivered' && batchLimit === undefined && suspectHi === undefined;
  const free = claimed.requestsPerMinute === 0 && claimed.batchLimit === null;
  return plain && free ? planned.next?.() : undefined;
}

/** The fault is ours (the database, a secret that does not open): nothing is held against the endpoint. */
function ownFault(planned: Planned, claimed: Claimed): Settled {
  const tried = triedOf(planned, claimed, undefined);
  const waiting = {
    ...decideUnsettled({ ...tried, events: 2 }),
    outcome: 'waiting' as const,
    thaw: false,
    dueInMs: ownFaultMs,
    batchLimit: tried.batchLimit,
    suspectHi: tried.suspectHi,
    reason: 'A delivery could not be prepared.',
  };
  return settledOf(planned, claimed, waiting, undefined, 0, 0);
}

function userOf({ callbackUrl, failures, slow }: Due): SlotUser {
  return { host: URL.canParse(callbackUrl) ? new URL(callbackUrl).host : '', troubled: failures > 0 || slow };
}
