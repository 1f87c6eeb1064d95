import { setTimeout as delay } from 'node:timers/promises';
import { PulsefeedError } from '../server/base/errors.ts';
import type { Sequencer } from '../server/log/index.ts';

/** How the numbering of lined-up records is paced. */
export interface NumberingPace {
  /**
   * Records in one step. The head is held for its duration, about 1 s on PostgreSQL: readers are not held up, but
   * other changes wait for their number.
   */
  readonly chunkSize: number;
  /** Milliseconds after which changes that were made meanwhile get a step of their own. */
  readonly liveEveryMs: number;
  /** Milliseconds to wait when another session numbers. */
  readonly standbyMs: number;
}

/** What was numbered. */
export interface NumberedEntries {
  /** Records that got their event. */
  readonly seeded: number;
  /** Records that did not: numbered by the sequencer meanwhile, gone meanwhile, or visible to nobody. */
  readonly passedOver: number;
  /** False when the run was asked to stop before all were done. */
  readonly finished: boolean;
}

/**
 * Numbers lined-up records until none is left, one short transaction a step. Between the steps it lets the changes of
 * the provider through, whether or not a server runs: sequencing must not stand still for a seeding of minutes.
 * @throws EE-301 when the log was set up with other resources.
 */
export async function numberEntries(
  sequencer: Sequencer,
  pace: NumberingPace,
  onDone: (done: number) => void,
  signal: AbortSignal | undefined,
  now: () => number,
): Promise<NumberedEntries> {
  let seeded = 0;
  let taken = 0;
  let lastLive = now();
  while (signal?.aborted !== true) {
    if (now() - lastLive >= pace.liveEveryMs) {
      await sequencer.step();
      lastLive = now();
    }
    const outcome = await sequencer.seedStep(pace.chunkSize);
    switch (outcome.kind) {
      case 'idle':
        return { seeded, passedOver: taken - seeded, finished: true };
      case 'rules-differ':
        throw new PulsefeedError(
          'EE-301',
          'The log was set up with other resources than this configuration has. Run `pulsefeed migrate`.',
        );
      case 'standby':
        // Either another session numbers, or a large batch is open, which an ordinary step works on.
        if ((await sequencer.step()).kind === 'standby') await delay(pace.standbyMs);
        break;
      case 'numbered':
        seeded += outcome.pulses;
        taken += outcome.changes;
        onDone(taken);
        break;
      default: {
        const never: never = outcome;
        return never;
      }
    }
  }
  return { seeded, passedOver: taken - seeded, finished: false };
}
