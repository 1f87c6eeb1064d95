import type { Timing } from '../timing.ts';
import type { SeededRandom } from './seeded-random.ts';

/** A clock that jumps over every wait, and the waits it was asked for. */
export interface FastTiming extends Timing {
  readonly waits: number[];
}

/** Makes a clock whose `sleep` takes one turn of the event loop and moves the time on by what was asked. */
export function fastTiming(random: SeededRandom): FastTiming {
  let skipped = 0;
  const waits: number[] = [];
  return {
    waits,
    now: () => Date.now() + skipped,
    random,
    sleep: async ms => {
      if (ms > 0) waits.push(ms);
      skipped += ms;
      await new Promise(resolve => setImmediate(resolve));
    },
  };
}
