/** A seeded stream of numbers in [0, 1) (mulberry32), so that a failing run can be run again. */
export interface SeededRandom {
  (): number;
  readonly seed: number;
}

/** Makes a stream from a whole number. */
export function seededRandom(seed: number): SeededRandom {
  let state = seed >>> 0;
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
  return Object.assign(next, { seed });
}
