import type { Due } from './due-sql.ts';
import type { AliveWorker } from './place-sql.ts';

/**
 * Which of the living workers a subscription belongs to: the one that draws the highest lot (rendezvous hashing), weighted
 * by slots. A worker that comes or goes moves its share alone. Nothing rests on it: a claim decides.
 */
export function workerOf(subscriptionId: string, alive: readonly AliveWorker[]): bigint | undefined {
  let best: { readonly id: bigint; readonly score: number } | undefined;
  for (const { id, slots } of alive) {
    const score = -slots / Math.log(lot(`${subscriptionId} ${id}`));
    if (best === undefined || score > best.score) best = { id, score };
  }
  return best?.id;
}

/** A number in (0, 1) that depends on every character (FNV-1a, then mixed: similar texts must not draw similar lots). */
function lot(text: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index += 1) {
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  }
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (((hash ^ (hash >>> 16)) >>> 0) + 0.5) / 2 ** 32;
}

/**
 * Remembers what belongs to others and waits all the same: whoever it belongs to may be too busy or stopped, and after
 * `patienceMs` anybody takes it.
 */
export class Patience {
  readonly #patienceMs: number;
  #seen = new Map<string, { readonly mark: string; readonly at: number }>();

  constructor(patienceMs: number) {
    this.#patienceMs = patienceMs;
  }

  /** Those that have waited long enough. To be told of all that others should do, each time. */
  waited(dues: readonly Due[], now: number): Due[] {
    const next = new Map<string, { readonly mark: string; readonly at: number }>();
    const ripe = dues.filter(({ id, cursor, attempt, redrive }) => {
      const mark = `${cursor} ${attempt} ${redrive}`;
      const known = this.#seen.get(id);
      const entry = known?.mark === mark ? known : { mark, at: now };
      next.set(id, entry);
      return now - entry.at >= this.#patienceMs;
    });
    this.#seen = next;
    return ripe;
  }

  /** It was looked at and has nothing to do: the wait begins anew. */
  forget(id: string): void {
    this.#seen.delete(id);
  }
}
