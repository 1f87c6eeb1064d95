import type { Db } from '../base/db/index.ts';
import type { Observe } from '../base/observe.ts';
import type { VisibilityPolicy } from '../visibility/index.ts';
import type { DeliveryParts } from './deliver.ts';
import { Deliveries } from './deliveries.ts';
import { WorkFinder } from './find-work.ts';
import { type AliveWorker, beat, leave } from './place-sql.ts';
import { samplePush } from './sample.ts';
import type { SlotLimits } from './slots.ts';
import { sweep } from './upkeep-sql.ts';

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
const failureMs = { first: 100, most: 5_000 } as const;

/**
 * Delivers until it is stopped. States: idle -> running -> stopping -> stopped. The memory is bounded by the slots and the
 * size of one block, however long the backlog.
 */
export class PushWorker {
  readonly #parts: WorkerParts;
  readonly #finder: WorkFinder;
  readonly #deliveries: Deliveries;
  readonly #timers = new Set<() => void>();
  #id: bigint | undefined;
  #alive: readonly AliveWorker[] = [];
  #wake: (() => void) | undefined;
  #poked = false;
  #stopping = false;
  #started: Promise<unknown> | undefined;
  #unlisten: (() => Promise<void>) | undefined;

  constructor(parts: WorkerParts) {
    const { pace } = parts;
    this.#parts = parts;
    this.#finder = new WorkFinder({ ...parts, patienceMs: pace.patienceMs });
    this.#deliveries = new Deliveries({
      ...parts,
      leaseMs: pace.leaseMs,
      workerId: () => this.#id ?? 0n,
      began: id => this.#finder.began(id),
      ended: () => this.poke(),
    });
  }

  /** Begins; resolves once the worker is known to the others. */
  async start(): Promise<void> {
    await this.#beat();
    this.#unlisten = await this.#parts.db.listen('pulsefeed_head', () => this.poke());
    this.#started = Promise.all([
      this.#every(this.#parts.pace.beatMs, () => this.#beat()),
      this.#every(this.#parts.pace.skipMs, () => this.#finder.skip()),
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
    await this.#deliveries.close(graceMs);
    if (this.#id !== undefined) await leave(this.#parts.db, this.#id).catch(() => undefined);
  }

  async #rounds(): Promise<void> {
    let retryMs: number = failureMs.first;
    while (!this.#stopping) {
      this.#poked = false;
      try {
        const more = await this.#round();
        retryMs = failureMs.first;
        if (!more) await this.#pause(this.#parts.pace.pollMs, true);
      } catch (error) {
        this.#parts.observe({ kind: 'PushFailed', error, retryMs });
        await this.#pause(retryMs, false);
        retryMs = Math.min(retryMs * 2, failureMs.most);
      }
    }
  }

  /** One look at what is due. @returns true when there is more to look at that nothing will announce. */
  async #round(): Promise<boolean> {
    const { free } = this.#deliveries;
    if (free <= 0) return false;
    const readAt = this.#parts.monotonic();
    const { planned, more } = await this.#finder.find({
      workerId: this.#id,
      alive: this.#alive,
      underWay: id => this.#deliveries.underWay(id),
      free,
    });
    const roomForAll = await this.#deliveries.begin(planned, readAt);
    return more && roomForAll;
  }

  async #beat(): Promise<void> {
    const { db, name, limits, pace } = this.#parts;
    const { busy, delivered } = this.#deliveries;
    const worker = { id: this.#id, name, slots: limits.slots, busy, delivered };
    const { id, alive } = await beat(db, worker, pace.aliveMs);
    this.#id = id;
    this.#alive = alive;
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
