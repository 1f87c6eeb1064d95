import snowflakeExports from 'snowflake-id';
import { PulsefeedError } from '../base/errors.ts';
import { maxSequence } from './sequence-number.ts';

/** Gives the first number of a batch; the batch counts up from it. Always above `last`. */
export type Numbering = (last: bigint) => bigint;

/** 1, 2, 3, ...: exact in JavaScript for 285 years at a million a second. The default. */
export const dense: Numbering = last => within(last + 1n);

/** The package is CommonJS: some loaders hand over its exports, others the `default` among them. */
const SnowflakeId = 'default' in snowflakeExports ? snowflakeExports.default : snowflakeExports;

/** Milliseconds since 1970 of the moment from which snowflake numbers count. */
const snowflakeOffsetMs = 1_704_067_200_000;

/**
 * Numbers that carry the time. `snowflake-id` by itself goes back with the clock, repeats after 4,096 ids in a
 * millisecond and spins when the clock stands still; so it is asked once a batch and only when the clock shows another
 * millisecond than the last time, the batch counts up from there, and the candidate is passed over when it is not
 * above the last number.
 */
export function snowflake(machineId: number, candidate?: () => bigint): Numbering {
  const next = candidate ?? clockCandidate(machineId);
  return last => {
    const proposed = next();
    return within(proposed > last ? proposed : last + 1n);
  };
}

/** A candidate of the present millisecond; 0, which is below every number, where the clock gives none. */
function clockCandidate(machineId: number): () => bigint {
  const ids = new SnowflakeId({ mid: machineId, offset: snowflakeOffsetMs });
  let askedAtMs = 0;
  return () => {
    const nowMs = Date.now();
    // Before its offset the package builds no number at all.
    if (nowMs === askedAtMs || nowMs < snowflakeOffsetMs) return 0n;
    askedAtMs = nowMs;
    return BigInt(ids.generate());
  };
}

function within(first: bigint): bigint {
  if (first > maxSequence) throw usedUp();
  return first;
}

/** What is thrown when the numbers end, at the start of a batch or in the middle of one. */
export function usedUp(cause?: unknown): PulsefeedError {
  return new PulsefeedError('EE-900', 'The numbers of Int64 are used up.', { cause });
}
