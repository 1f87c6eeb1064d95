import { setTimeout as delay } from 'node:timers/promises';
import { PulsefeedError, sqlState } from '../server/base/errors.ts';
import type { Sequencer } from '../server/log/index.ts';

/** How the numbering of lined-up records is paced. */
export interface NumberingPace {
  /** Records in the first step. */
  readonly chunkSize: number;
  /** The most that a step grows to. */
  readonly mostChunkSize: number;
  /** Milliseconds after which changes that were made meanwhile get a step of their own. */
  readonly liveEveryMs: number;
  /** Milliseconds to wait when another session numbers. */
  readonly standbyMs: number;
}

/**
 * Larger steps are cheaper by the record, since one scan of the provider's table serves more of them, but the head is
 * held meanwhile: readers are not held up, other changes wait for their number. So a step grows while it takes less
 * than the one, and shrinks when it takes more than the other.
 */
const growBelowMs = 1_500;
const shrinkAboveMs = 5_000;
const leastChunkSize = 500;

/** SQLSTATE of a statement that ran into the time limit of a step. */
const canceled = '57014';

/** What was numbered. */
export interface NumberedEntries {
  /** Records that got their event in a step of seeding. */
  readonly seeded: number;
  /**
   * Records that did not: numbered by the sequencer meanwhile, gone meanwhile, or visible to nobody. Where a step was
   * handed over to the sequencer, since it showed more children than a step may take, all of it is counted here.
   */
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
  let chunkSize = pace.chunkSize;
  while (signal?.aborted !== true) {
    if (now() - lastLive >= pace.liveEveryMs) {
      await sequencer.step();
      lastLive = now();
    }
    const startedAt = now();
    const outcome = await sequencer.seedStep(chunkSize).catch((error: unknown) => {
      // A server under load: nothing of the step was kept, a smaller one gets through.
      if (sqlState(error) !== canceled || chunkSize <= leastChunkSize) throw error;
      return { kind: 'timed out' } as const;
    });
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
        chunkSize = nextChunkSize(chunkSize, now() - startedAt, pace.mostChunkSize);
        break;
      case 'timed out':
        chunkSize = Math.max(leastChunkSize, Math.trunc(chunkSize / 4));
        break;
      default: {
        const never: never = outcome;
        return never;
      }
    }
  }
  return { seeded, passedOver: taken - seeded, finished: false };
}

/** Records in the next step, when one of `chunkSize` took so long. Never more than `most`. */
export function nextChunkSize(chunkSize: number, tookMs: number, most: number): number {
  if (tookMs > shrinkAboveMs) return Math.min(chunkSize, Math.max(leastChunkSize, chunkSize >> 1));
  return tookMs < growBelowMs ? Math.min(most, chunkSize * 2) : chunkSize;
}
