/** Choices that look random and are the same on every machine and in every run. */
export interface Chance {
  /** An integer from 0 to `limit - 1`. */
  below(limit: number): number;
  /** An integer from `least` to `most`, both included. */
  between(least: number, most: number): number;
  /** A number around `middle`, at most `spread` away and mostly near it. */
  around(middle: number, spread: number): number;
  happens(probability: number): boolean;
  /** @throws Error when the list is empty. */
  pick<T>(list: readonly T[]): T;
  /** Picks by weight. @throws Error when the list is empty. */
  weighted<T>(choices: readonly (readonly [choice: T, weight: number])[]): T;
  /** Some of the list, in its order: from `least` to `most` of them. */
  some<T>(list: readonly T[], least: number, most: number): T[];
}

/**
 * A stream of choices of its own for each thing that is made: listing 7 comes out the same whether or not listing 6
 * was made before it, so one can be added later. (mulberry32, started from an FNV-1a hash.)
 */
export function chance(seed: number, stream: string, number: number): Chance {
  let state = fnv1a(`${seed}/${stream}/${number}`);
  const unit = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
  const below = (limit: number) => Math.floor(unit() * limit);
  const between = (least: number, most: number) => least + below(most - least + 1);
  return {
    below,
    between,
    around: (middle, spread) => middle + ((unit() + unit() + unit()) / 1.5 - 1) * spread,
    happens: probability => unit() < probability,
    pick: list => at(list, below(list.length)),
    weighted(choices) {
      let left = unit() * choices.reduce((sum, [, weight]) => sum + weight, 0);
      const found = choices.findIndex(([, weight]) => {
        left -= weight;
        return left < 0;
      });
      return at(choices, found < 0 ? choices.length - 1 : found)[0];
    },
    some(list, least, most) {
      const wanted = Math.min(list.length, between(least, most));
      const taken = new Set<number>();
      while (taken.size < wanted) taken.add(below(list.length));
      return list.filter((_, index) => taken.has(index));
    },
  };
}

/** A list may hold undefined itself, so it is the length that tells. */
function at<T>(list: readonly T[], index: number): T {
  if (index < 0 || index >= list.length) throw new Error('There is nothing to choose from.');
  return list[index] as T;
}

function fnv1a(text: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index += 1) {
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  }
  return hash >>> 0;
}
