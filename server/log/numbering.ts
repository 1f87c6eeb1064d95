import SnowflakeId from 'snowflake-id';
import { PulsefeedError } from '../base/errors.ts';
import { maxSequence } from './sequence-number.ts';

/** Gives the first number of a batch; the batch counts up from it. Always above `last`. */
export type Numbering = (last: bigint) => bigint;

/** 1, 2, 3, ...: exact in JavaScript for 285 years at a million a second. The default. */
export const dense: Numbering = last => within(last + 1n);

/** Milliseconds since 1970 of the moment from which snowflake numbers count. */
const snowflakeOffsetMs = 1_704_067_200_000;

/**
 * Numbers that carry the time. `snowflake-id` by itself goes back with the clock, repeats after 4,096 ids in a
 * millisecond and spins when the clock stands still; so it gives one candidate a batch at most, the batch counts up
 * from there, and the candidate is passed over when it is not above the last number.
 */
export function snowflake(machineId: number, candidate?: () => bigint): Numbering {
  const ids = new SnowflakeId({ mid: machineId, offset: snowflakeOffsetMs });
  const next = candidate ?? (() => BigInt(ids.generate()));
  return last => {
    const proposed = next();
    return within(proposed > last ? proposed : last + 1n);
  };
}

function within(first: bigint): bigint {
  if (first > maxSequence) throw new PulsefeedError('EE-900', 'The numbers of Int64 are used up.');
  return first;
}
