import type { Db } from '../base/db/index.ts';
import type { Observe } from '../base/observe.ts';
import type { VisibilityPolicy } from '../visibility/index.ts';
import { BlockReader } from './block.ts';
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
import {
  FilterBook,
  type Found,
  isSuspect,
  type Planned,
  planAgain,
  planFresh,
  planLetter,
} from './plan-batches.ts';
import { samplePush } from './sample.ts';
import { SettleQueue } from './settle-queue.ts';
import { Patience, workerOf } from './share-out.ts';
import { type SlotLimits, Slots, type SlotUser } from './slots.ts';
import {
  type AliveWorker,
  beat,
  type Claimed,
  claim,
  type Due,
  dueSubscriptions,
  feedClasses,
  leave,
  mustReinitialise,
  queuedLetters,
  type Settled,
  settle,
  skipForeign,
  supersede,
  sweep,
  thaw,
} from './worker-sql.ts';

/** Times of a worker in milliseconds, and how long attempts are kept. */
export interface WorkerPace {
  /** How long a claim lasts: longer than a token request, a POST and writing what came of it. */
  readonly leaseMs: number;
  /** Without a beat for so long a worker is dead, and others go on with what it held. */
  readonly aliveMs: number;
  readonly beatMs: number;
  /** The longest that a due subscription waits to be seen when no notification comes. */
  readonly pollMs: number;
  /** What belongs to another worker and waits so long is taken over. */
  readonly patienceMs: number;
  /** How often cursors of subscriptions without events of their own are moved up. */
  readonly skipMs: number;
  readonly sampleMs: number;
  readonly retentionDays: number;
}

/** A dead worker's subscriptions go on after at most aliveMs, beatMs, patienceMs and pollMs together: 7.5 s. */
export const standardPace: WorkerPace = {
  leaseMs: 60_000,
  aliveMs: 4_500,
  beatMs: 1_000,
  pollMs: 500,
  patienceMs: 1_500,
  skipMs: 15_000,
  sampleMs: 15_000,
  retentionDays: 7,
};

/** What a worker works with. */
export interface WorkerParts extends DeliveryParts {
  readonly db: Db;
  readonly policy: VisibilityPolicy;
  readonly observe: Observe;
  /** What `pulsefeed worker list` shows. */
  readonly name: string;
  readonly limits: SlotLimits;
  readonly pace: WorkerPace;
  /** Milliseconds that only grow. */
  readonly monotonic: () => number;
}

const standardGraceMs = 10_000;

/** Most subscriptions looked at in one round: bounds its reads, the rest comes in the next. */
const mostOfRound = 512;
const mostDue = 5_000;

/**
 * Delivers until it is stopped. States: idle -> running -> stopping -> stopped. Invariants: nothing is sent before its
 * claim is in the database; a subscription has one delivery under way here at most; what is under way never exceeds the
 * slots; the memory is bounded by the slots and the size of one block, however long the backlog.
 */
export class PushWorker {
  readonly #parts: WorkerParts;
  readonly #reader: BlockReader;
  readonly #filters = new FilterBook();
  readonly #secrets = new OpenSecrets();
  readonly #slots: Slots;
  readonly #settles: SettleQueue;
  readonly #patience: Patience;
  readonly #underWay = new Map<string, Promise<void>>();
  /** Up to where nothing of a subscription's own lies, as long as its cursor is where it was. */
  readonly #scanned = new Map<
    string,
    { readonly cursor: bigint; readonly version: number; readonly to: bigint }
  >();
  /** Since when a batch that may wait for more has waited. */
  readonly #waiting = new Map<string, { readonly cursor: bigint; readonly at: number }>();
  #classes: ReadonlyMap<number, string> = new Map();
  #id: bigint | undefined;
  #alive: readonly AliveWorker[] = [];
  #delivered = 0;
  #wake: (() => void) | undefined;
  #poked = false;
  #stopping = false;
  /** It has given up its place: nothing is written any more. */
  #left = false;
  #started: Promise<unknown> | undefined;
  #unlisten: (() => Promise<void>) | undefined;

  constructor(parts: WorkerParts) {
    this.#parts = parts;
    this.#reader = new BlockReader(parts.db, parts.policy);
    this.#slots = new Slots(parts.limits, parts.monotonic);
    this.#patience = new Patience(parts.pace.patienceMs);
    this.#settles = new SettleQueue(
      tries => settle(parts.db, this.#id ?? 0n, parts.pace.leaseMs, tries),
      parts.observe,
      parts.monotonic,
    );
  }

  /** Begins; resolves once the worker is known to the others. */
  async start(): Promise<void> {
    await this.#beat();
    this.#unlisten = await this.#parts.db.listen('pulsefeed_head', () => this.poke());
    this.#started = Promise.all([
      this.#every(this.#parts.pace.beatMs, () => this.#beat()),
      this.#every(this.#parts.pace.skipMs, () => this.#skip()),
      this.#every(this.#parts.pace.sampleMs, () => this.#sample()),
      this.#rounds(),
    ]);
  }

  /** Ends the present pause: something may be due. */
  poke(): void {
    this.#poked = true;
    this.#wake?.();
  }

  /**
   * Claims nothing more, waits for what is under way and gives up its place. What has not ended within `graceMs` is
   * left: others claim it again at once, under the same id.
   */
  async stop(graceMs = standardGraceMs): Promise<void> {
    this.#stopping = true;
    this.#wake?.();
    for (const wake of this.#timers) wake();
    await this.#started;
    await this.#unlisten?.();
    let timer: NodeJS.Timeout | undefined;
    const patience = new Promise<void>(resolve => {
      timer = setTimeout(resolve, graceMs);
    });
    await Promise.race([Promise.all(this.#underWay.values()), patience]);
    clearTimeout(timer);
    this.#left = true;
    if (this.#id !== undefined) await leave(this.#parts.db, this.#id).catch(() => undefined);
  }

  readonly #timers = new Set<() => void>();

  async #rounds(): Promise<void> {
    let failureMs = 100;
    while (!this.#stopping) {
      this.#poked = false;
      try {
        const more = await this.#round();
        failureMs = 100;
        if (more) continue;
      } catch (error) {
        this.#parts.observe({ kind: 'PushFailed', error, retryMs: failureMs });
        await this.#pause(failureMs, false);
        failureMs = Math.min(failureMs * 2, 5_000);
        continue;
      }
      await this.#pause(this.#parts.pace.pollMs, true);
    }
  }

  /** One look at what is due. @returns true when there is more to look at that nothing will announce. */
  async #round(): Promise<boolean> {
    if (this.#slots.free <= 0) return false;
    const { db, monotonic } = this.#parts;
    const all = (await dueSubscriptions(db, mostDue)).filter(({ id }) => !this.#underWay.has(id));
    const dues = all.filter(({ epoch, logEpoch }) => epoch === logEpoch);
    if (dues.length < all.length) {
      await this.#lost(
        all.filter(due => !dues.includes(due)),
        'The database was restored: what was sent since may have been undone.',
      );
    }
    const own = dues.filter(due => workerOf(due.id, this.#alive) === this.#id);
    const ownIds = new Set(own.map(({ id }) => id));
    const ripe = this.#patience.waited(
      dues.filter(({ id }) => !ownIds.has(id)),
      monotonic(),
    );
    const open = [...own, ...ripe].filter(due => this.#mayHaveWork(due));
    const looked = open.slice(0, mostOfRound);
    const found = await this.#plan(looked);
    const planned: Planned[] = [];
    let refused = false;
    for (const one of found) {
      if (one.kind !== 'send') await this.#note(one);
      else if (!this.#ripe(one.planned)) continue;
      else if (this.#slots.take(userOf(one.planned.due))) planned.push(one.planned);
      else refused = true;
    }
    await this.#claim(planned);
    return open.length > looked.length && !refused && this.#slots.free > 0;
  }

  /** False for one of whose part of the log nothing is its own. */
  #mayHaveWork(due: Due): boolean {
    return due.redrive || due.batchHi !== null || this.#after(due) < due.head;
  }

  #after({ id, cursor, version }: Due): bigint {
    const known = this.#scanned.get(id);
    return known !== undefined && known.cursor === cursor && known.version === version ? known.to : cursor;
  }

  async #plan(dues: readonly Due[]): Promise<Found[]> {
    const found: Found[] = [];
    const letters = dues.filter(({ redrive }) => redrive);
    if (letters.length > 0) {
      const queued = new Map(
        (
          await queuedLetters(
            this.#parts.db,
            letters.map(({ id }) => id),
          )
        ).map(one => [one.subscriptionId, one]),
      );
      for (const due of letters) {
        const letter = queued.get(due.id);
        if (letter !== undefined) found.push(await planLetter(this.#reader, due, letter));
      }
    }
    const rest = dues.filter(due => !found.some(one => dueOf(one).id === due.id));
    // A frozen batch is read by itself: as many as can be sent, no more.
    const frozen = rest.filter(({ batchHi }) => batchHi !== null).slice(0, this.#slots.free);
    found.push(...(await Promise.all(frozen.map(due => planAgain(this.#reader, this.#filters, due)))));
    const groups = new Map<string, { due: Due; after: bigint }[]>();
    for (const due of rest.filter(({ batchHi }) => batchHi === null)) {
      const after = this.#after(due);
      if (after >= due.head) continue;
      const name = `${await this.#classOf(due.consumerId)} ${due.filter ?? ''}`;
      const group = groups.get(name) ?? [];
      group.push({ due, after });
      groups.set(name, group);
    }
    for (const group of groups.values()) found.push(...(await planFresh(this.#reader, this.#filters, group)));
    return found;
  }

  async #classOf(consumerId: number): Promise<string> {
    if (!this.#classes.has(consumerId)) {
      const classes = await feedClasses(this.#parts.db);
      // One that holds nothing but its private feed is a class too.
      this.#classes = new Map([[consumerId, ''], ...classes]);
    }
    return this.#classes.get(consumerId) ?? '';
  }

  async #note(found: Exclude<Found, { kind: 'send' }>): Promise<void> {
    const { due } = found;
    if (found.kind === 'lost') {
      await this.#lost([due], `Removals up to number ${found.horizon} are not kept any more.`);
      return;
    }
    if (found.kind === 'superseded') {
      await supersede(this.#parts.db, found.letter.id);
      this.poke();
      return;
    }
    this.#patience.forget(due.id);
    if (due.batchHi !== null) {
      if (!found.move) return;
      await thaw(this.#parts.db, { id: due.id, cursor: due.cursor, hi: due.batchHi, to: found.to });
      this.poke();
      return;
    }
    if (found.to > due.cursor) {
      this.#scanned.set(due.id, { cursor: due.cursor, version: due.version, to: found.to });
    }
  }

  /** Nothing is sent from a place that is lost: a Seek to 0 begins anew. */
  async #lost(dues: readonly Due[], why: string): Promise<void> {
    const { db, observe } = this.#parts;
    const reason = `${why} Seek to 0.`;
    await mustReinitialise(
      db,
      dues.map(({ id }) => id),
      reason,
    );
    for (const { id } of dues)
      observe({ kind: 'PushStopped', subscription: id, state: 'must-reinitialise', reason });
  }

  /** Whether a batch is to be sent now, or may wait for more to come. */
  #ripe({ due, wanted, count }: Planned): boolean {
    if (wanted.kind !== 'fresh' || due.maxWaitMs === 0 || count >= due.maxEvents) return true;
    const now = this.#parts.monotonic();
    const known = this.#waiting.get(due.id);
    if (known?.cursor === due.cursor) return now - known.at >= due.maxWaitMs;
    this.#waiting.set(due.id, { cursor: due.cursor, at: now });
    return false;
  }

  async #claim(planned: readonly Planned[]): Promise<void> {
    if (planned.length === 0) return;
    const { db, pace } = this.#parts;
    let claimed: readonly Claimed[] = [];
    try {
      claimed = await claim(
        db,
        this.#id ?? 0n,
        pace.leaseMs,
        planned.map(({ wanted }) => wanted),
      );
    } finally {
      const granted = new Map(claimed.map(one => [one.id, one]));
      for (const one of planned) {
        const grant = granted.get(one.due.id);
        if (grant === undefined) this.#slots.give(userOf(one.due));
        else this.#begin(one, grant);
      }
    }
  }

  #begin(planned: Planned, claimed: Claimed): void {
    this.#scanned.delete(claimed.id);
    this.#waiting.delete(claimed.id);
    const work = this.#deliver(planned, claimed).finally(() => {
      this.#slots.give(userOf(planned.due));
      this.#underWay.delete(claimed.id);
      this.poke();
    });
    this.#underWay.set(claimed.id, work);
  }

  /** Delivers a batch, and those behind it that are claimed as it is settled. Never throws. */
  async #deliver(first: Planned, granted: Claimed): Promise<void> {
    const readAt = this.#parts.monotonic();
    let planned: Planned | undefined = first;
    let claimed = granted;
    while (planned !== undefined) {
      const ended = await this.#try(planned, claimed);
      const fresh = this.#parts.monotonic() - readAt < freshMs && !this.#stopping;
      const next: Planned | undefined = fresh ? nextOf(planned, ended.settled, claimed) : undefined;
      const settled = { ...ended.settled, next: next?.wanted };
      if (this.#left) return;
      const written = await this.#settles.add(settled, this.#parts.pace.leaseMs);
      this.#tell(claimed, { ...ended, settled }, written !== undefined);
      if (next !== undefined) {
        const { count } = next.wanted;
        claimed = {
          ...claimed,
          ...anew,
          token: claimed.token + 1n,
          cursor: next.due.cursor,
          hi: next.wanted.hi,
          count,
        };
      }
      planned = written?.goesOn === true ? next : undefined;
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

  async #beat(): Promise<void> {
    const { db, name, limits, pace } = this.#parts;
    const worker = {
      id: this.#id,
      name,
      slots: limits.slots,
      busy: this.#slots.busy,
      delivered: this.#delivered,
    };
    const { id, alive } = await beat(db, worker, pace.aliveMs);
    this.#id = id;
    this.#alive = alive;
  }

  async #skip(): Promise<void> {
    const places = [...this.#scanned].map(([id, { cursor, to }]) => ({ id, cursor, to }));
    this.#classes = new Map();
    await skipForeign(this.#parts.db, places);
    for (const { id, cursor, to } of places) {
      const known = this.#scanned.get(id);
      if (known?.cursor === cursor && known.to === to) this.#scanned.delete(id);
    }
  }

  async #sample(): Promise<void> {
    const { db, observe, pace } = this.#parts;
    observe({ kind: 'PushSampled', ...(await samplePush(db)) });
    await sweep(db, pace.retentionDays);
  }

  /** Repeats `work` until the worker stops. */
  async #every(ms: number, work: () => Promise<void>): Promise<void> {
    while (!this.#stopping) {
      await new Promise<void>(resolve => {
        const wake = () => {
          clearTimeout(timer);
          this.#timers.delete(wake);
          resolve();
        };
        const timer = setTimeout(wake, ms);
        this.#timers.add(wake);
      });
      if (this.#stopping) return;
      await work().catch((error: unknown) => this.#parts.observe({ kind: 'PushFailed', error, retryMs: ms }));
    }
  }

  #pause(ms: number, pokeable: boolean): Promise<void> {
    if (this.#stopping || (pokeable && this.#poked)) return Promise.resolve();
    return new Promise(resolve => {
      const finish = () => {
        clearTimeout(timer);
        this.#wake = undefined;
        resolve();
      };
      const timer = setTimeout(finish, ms);
      this.#wake = () => {
        if (pokeable || this.#stopping) finish();
      };
    });
  }
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

/** The batch to go on with: only after a delivery without any trouble, and without a cap on the rate. */
function nextOf(planned: Planned, { settlement }: Settled, claimed: Claimed): Planned | undefined {
  const { outcome, batchLimit, suspectHi } = settlement;
  const plain = outcome === 'delivered' && batchLimit === undefined && suspectHi === undefined;
  return plain && claimed.requestsPerMinute === 0 && claimed.batchLimit === null
    ? planned.next?.()
    : undefined;
}

/** The fault is ours (the database, a secret that does not open): nothing is held against the endpoint. */
function ownFault(planned: Planned, claimed: Claimed) {
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

function dueOf(found: Found): Due {
  return found.kind === 'send' ? found.planned.due : found.due;
}
