/** Random choices that can be replayed. */
export interface SeededRandom {
  /** For messages: how to repeat the run. */
  readonly seed: string;
  /** An integer from 0 to `limit - 1`. */
  below(limit: number): number;
}

/**
 * A mulberry32 generator: small, and the same on every machine. The seed is random unless given or set in
 * PULSEFEED_TEST_SEED.
 */
export function seededRandom(seed = chooseSeed()): SeededRandom {
  let state = seed >>> 0;
  return {
    seed: `PULSEFEED_TEST_SEED=${seed}`,
    below(limit) {
      state = (state + 0x6d2b79f5) >>> 0;
      let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
      mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
      return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296) * limit);
    },
  };
}

function chooseSeed(): number {
  const given = process.env.PULSEFEED_TEST_SEED;
  return given === undefined ? Math.floor(Math.random() * 4_294_967_296) : Number(given);
}
