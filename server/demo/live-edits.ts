import type { Db } from '../base/db/index.ts';
import { chance } from './chance.ts';
import { changeOpenHouse, changePhotos } from './child-edits.ts';
import type { Edit, Edited } from './edit-scene.ts';
import {
  addListing,
  changeDisplay,
  changePrice,
  changeStatus,
  closeSale,
  deleteListing,
} from './listing-edits.ts';
import { changeOfficePhone, moveAgent } from './roster-edits.ts';
import { readSampleState, type SampleState, writeSampleState } from './sample-state.ts';

/** Time as the live edits know it. */
export interface EditTiming {
  now(): Date;
  /** Calls `run` once after `ms`, unless the returned function is called before. */
  after(ms: number, run: () => void): () => void;
}

/** The clock of the process. */
export const processTiming: EditTiming = {
  now: () => new Date(),
  after(ms, run) {
    const timer = setTimeout(run, ms);
    return () => clearTimeout(timer);
  },
};

/** What the live edits need. */
export interface LiveEditsParts {
  readonly db: Db;
  readonly timing: EditTiming;
  /** Milliseconds from the end of one round to the next. */
  readonly everyMs: number;
  /** Told of each edit after its commit. Must not throw. */
  readonly onEdit?: (text: string) => void;
  /** Told of a round that failed, once as long as the same goes wrong. Must not throw. */
  readonly onError?: (error: unknown) => void;
}

/** How often each kind of edit is drawn. New listings and deletions weigh the same. */
const kinds: readonly (readonly [edit: Edit, weight: number])[] = [
  [changePrice, 30],
  [changeStatus, 22],
  [changePhotos, 20],
  [closeSale, 6],
  [addListing, 6],
  [deleteListing, 6],
  [changeOpenHouse, 6],
  [changeDisplay, 2],
  [moveAgent, 1],
  [changeOfficePhone, 1],
];

/** The number of listings stays within this share of what the sample was made with. */
const drift = 0.05;

const mostEditsInRound = 3;

/**
 * Edits a few records of the sample every few seconds. Which ones follows from the sample's seed and the number of
 * the edit, so that two runs on the same sample make the same edits; only timestamps come from the clock.
 *
 * States: new -> running (waiting for the next round, or in it) -> stopped. Each edit is one transaction with the
 * state that moved. A round that fails is reported and the next one tries again; no promise is ever rejected.
 */
export class LiveEdits {
  readonly #parts: LiveEditsParts;
  #known: { state: SampleState; count: number } | undefined;
  #cancel: (() => void) | undefined;
  #round: Promise<void> = Promise.resolve();
  #stopped = false;
  #lastError: string | undefined;

  constructor(parts: LiveEditsParts) {
    this.#parts = parts;
  }

  /** Begins; the first round comes after `everyMs`. */
  start(): void {
    this.#wait();
  }

  /** Resolves when the edit in hand has ended; nothing is changed after it. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#cancel?.();
    await this.#round;
  }

  #wait(): void {
    if (this.#stopped) return;
    const { timing, everyMs } = this.#parts;
    this.#cancel = timing.after(everyMs, () => {
      this.#round = this.round().then(() => this.#wait());
    });
  }

  /** Makes one round of edits now. Never rejects. */
  async round(): Promise<void> {
    try {
      const first = await this.#load();
      const edits = 1 + chance(first.seed, 'round', first.edits).below(mostEditsInRound);
      for (let edit = 0; edit < edits && !this.#stopped; edit += 1) {
        const done = await this.#editOnce();
        if (done !== undefined) this.#parts.onEdit?.(done.text);
      }
      this.#lastError = undefined;
    } catch (error) {
      // What is in the database decides what the next round begins with.
      this.#known = undefined;
      const message = error instanceof Error ? error.message : String(error);
      if (message !== this.#lastError) this.#parts.onError?.(error);
      this.#lastError = message;
    }
  }

  async #load(): Promise<SampleState> {
    if (this.#known === undefined) {
      const { db } = this.#parts;
      const state = await readSampleState(db);
      const [row] = await db.query<{ count: number }>({
        text: 'select count(*)::integer as count from public.property',
      });
      this.#known = { state, count: row?.count ?? 0 };
    }
    return this.#known.state;
  }

  async #editOnce(): Promise<Edited | undefined> {
    const state = await this.#load();
    const count = this.#known?.count ?? 0;
    const { db, timing } = this.#parts;
    const draw = chance(state.seed, 'edit', state.edits);
    const edit = balanced(draw.weighted(kinds), state.listings, count);
    const skipped = { ...state, edits: state.edits + 1 };
    const attempt = db.transaction(async tx => {
      const done = await edit({ tx, chance: draw, state, now: timing.now() });
      const added = done?.listings === 1 ? 1 : 0;
      const next = { ...skipped, nextListing: state.nextListing + added };
      await writeSampleState(tx, next);
      return { done, next };
    });
    const { done, next } = await attempt.catch(async (error: unknown) => {
      // The next round must not draw the very edit again that cannot be made.
      await writeSampleState(db, skipped);
      throw error;
    });
    this.#known = { state: next, count: count + (done?.listings ?? 0) };
    return done;
  }
}

/** Turns a deletion into a new listing where the sample has shrunk enough, and the other way round. */
function balanced(edit: Edit, made: number, count: number): Edit {
  const slack = Math.max(1, Math.floor(made * drift));
  if (edit === deleteListing && count <= made - slack) return addListing;
  if (edit === addListing && count >= made + slack) return deleteListing;
  return edit;
}
