import type { Db } from '../base/db/index.ts';
import type { Observe } from '../base/observe.ts';
import type { VisibilityPolicy } from '../visibility/index.ts';
import { BlockReader } from './block.ts';
import { type Due, dueSubscriptions, feedClasses, queuedLetters } from './due-sql.ts';
import type { AliveWorker } from './place-sql.ts';
import {
  FilterBook,
  type Found,
  type Planned,
  planAgain,
  planFresh,
  planLetter,
  type Reading,
} from './plan-batches.ts';
import { Patience, workerOf } from './share-out.ts';
import { mustReinitialise, skipForeign, supersede, thaw } from './upkeep-sql.ts';

/** What looking for work needs. */
export interface FinderParts {
  readonly db: Db;
  readonly policy: VisibilityPolicy;
  readonly observe: Observe;
  readonly patienceMs: number;
  /** Milliseconds that only grow. */
  readonly monotonic: () => number;
}

/** Who looks, and what it has room for. */
export interface Looking {
  readonly workerId: bigint | undefined;
  readonly alive: readonly AliveWorker[];
  /** True for what this worker is at already. */
  readonly underWay: (id: string) => boolean;
  /** How many deliveries could begin. */
  readonly free: number;
}

/** What was found. */
export interface Work {
  readonly planned: readonly Planned[];
  /** There was more than one look takes. */
  readonly more: boolean;
}

/** Most subscriptions looked at in one round: bounds its reads, the rest comes in the next. */
const mostOfRound = 512;
const mostDue = 5_000;

/**
 * Finds what a worker could send. It remembers up to where nothing of a subscription's own lies, since when a batch waits
 * for more, and what waits for other workers; all of it may be forgotten at any time.
 */
export class WorkFinder {
  readonly #parts: FinderParts;
  readonly #reader: BlockReader;
  readonly #filters = new FilterBook();
  readonly #patience: Patience;
  readonly #scanned = new Map<
    string,
    { readonly cursor: bigint; readonly version: number; readonly to: bigint }
  >();
  readonly #waiting = new Map<string, { readonly cursor: bigint; readonly at: number }>();
  #classes: ReadonlyMap<number, string> = new Map();

  constructor(parts: FinderParts) {
    this.#parts = parts;
    this.#reader = new BlockReader(parts.db, parts.policy);
    this.#patience = new Patience(parts.patienceMs);
  }

  /** Looks at what is due once, and writes what needs no delivery. */
  async find(looking: Looking): Promise<Work> {
    const due = (await dueSubscriptions(this.#parts.db, mostDue)).filter(({ id }) => !looking.underWay(id));
    const dues = due.filter(({ epoch, logEpoch }) => epoch === logEpoch);
    await this.#lost(
      due.filter(one => one.epoch !== one.logEpoch),
      'The database was restored: what was sent since may have been undone.',
    );
    const own = dues.filter(({ id }) => workerOf(id, looking.alive) === looking.workerId);
    const ownIds = new Set(own.map(({ id }) => id));
    const others = dues.filter(({ id }) => !ownIds.has(id));
    const ripe = this.#patience.waited(others, this.#parts.monotonic());
    const open = [...own, ...ripe].filter(one => this.#mayHaveWork(one));
    const found = await this.#plan(open.slice(0, mostOfRound), looking.free);
    for (const one of found) if (one.kind !== 'send') await this.#note(one);
    const planned = found.flatMap(one =>
      one.kind === 'send' && this.#ripe(one.planned) ? [one.planned] : [],
    );
    return { planned, more: open.length > mostOfRound };
  }

  /** A delivery has begun: what was remembered of the subscription is over. */
  began(id: string): void {
    this.#scanned.delete(id);
    this.#waiting.delete(id);
  }

  /** Moves cursors over what is not theirs, so that nobody reads it again, and looks anew at who holds the same feeds. */
  async skip(): Promise<void> {
    const places = [...this.#scanned].map(([id, { cursor, to }]) => ({ id, cursor, to }));
    this.#classes = new Map();
    await skipForeign(this.#parts.db, places);
    for (const { id, cursor, to } of places) {
      const known = this.#scanned.get(id);
      if (known?.cursor === cursor && known.to === to) this.#scanned.delete(id);
    }
  }

  /** False for one of whose part of the log nothing is its own. */
  #mayHaveWork(due: Due): boolean {
    return due.redrive || due.batchHi !== null || this.#after(due) < due.head;
  }

  #after({ id, cursor, version }: Due): bigint {
    const known = this.#scanned.get(id);
    return known !== undefined && known.cursor === cursor && known.version === version ? known.to : cursor;
  }

  async #plan(dues: readonly Due[], free: number): Promise<Found[]> {
    const letters = await this.#letters(dues.filter(({ redrive }) => redrive).slice(0, free));
    const taken = new Set(letters.map(one => (one.kind === 'send' ? one.planned.due : one.due)));
    const rest = dues.filter(due => !taken.has(due));
    // A frozen batch is read by itself: as many as can be sent, no more.
    const frozen = rest.filter(({ batchHi }) => batchHi !== null).slice(0, free);
    const again = await Promise.all(frozen.map(due => planAgain(this.#reader, this.#filters, due)));
    const groups = new Map<string, Reading[]>();
    for (const due of rest.filter(({ batchHi }) => batchHi === null)) {
      const after = this.#after(due);
      if (after >= due.head) continue;
      const name = `${await this.#classOf(due.consumerId)} ${due.filter ?? ''}`;
      groups.set(name, [...(groups.get(name) ?? []), { due, after }]);
    }
    const fresh: Found[] = [];
    for (const group of groups.values()) fresh.push(...(await planFresh(this.#reader, this.#filters, group)));
    return [...letters, ...again, ...fresh];
  }

  async #letters(dues: readonly Due[]): Promise<Found[]> {
    if (dues.length === 0) return [];
    const ids = dues.map(({ id }) => id);
    const queued = await queuedLetters(this.#parts.db, ids);
    const found: Found[] = [];
    for (const due of dues) {
      const letter = queued.find(({ subscriptionId }) => subscriptionId === due.id);
      if (letter !== undefined) found.push(await planLetter(this.#reader, due, letter));
    }
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
      const { archived, horizon } = found;
      if (archived)
        await this.#lost(
          [due],
          `Numbers up to ${horizon} are archived, which is not pushed.`,
          `Copy by GET /EntityEvent, then seek to ${horizon} or later.`,
        );
      else await this.#lost([due], `Removals up to number ${horizon} are not kept any more.`);
      return;
    }
    if (found.kind === 'superseded') {
      await supersede(this.#parts.db, found.letter.id);
      return;
    }
    this.#patience.forget(due.id);
    if (due.batchHi !== null) {
      if (!found.move) return;
      await thaw(this.#parts.db, { id: due.id, cursor: due.cursor, hi: due.batchHi, to: found.to });
    } else if (found.to > due.cursor) {
      this.#scanned.set(due.id, { cursor: due.cursor, version: due.version, to: found.to });
    }
  }

  /** Nothing is sent from a place that is lost: a Seek to 0 begins anew. */
  async #lost(dues: readonly Due[], why: string, how = 'Seek to 0.'): Promise<void> {
    if (dues.length === 0) return;
    const { db, observe } = this.#parts;
    const reason = `${why} ${how}`;
    const ids = dues.map(({ id }) => id);
    await mustReinitialise(db, ids, reason);
    for (const subscription of ids) {
      observe({ kind: 'PushStopped', subscription, state: 'must-reinitialise', reason });
    }
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
}
