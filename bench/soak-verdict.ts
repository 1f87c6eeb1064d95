import type { ReadFeed, Replica } from './soak-reader.ts';
import type { WrittenTransaction } from './soak-writer.ts';

/** What is known when a soak has come to rest. */
export interface SoakEvidence {
  /** Only those that are in the database. */
  readonly committed: readonly WrittenTransaction[];
  readonly feeds: readonly ReadFeed[];
  /** All records as they are. */
  readonly records: Replica;
  readonly head: bigint;
}

/** Counts of what must never happen, and the first examples in words. */
export interface SoakVerdict {
  /** Numbers that a reader never got. */
  readonly lost: number;
  /** Numbers that a reader got twice, or out of order, or above the head. */
  readonly doubled: number;
  /** Records whose last pulse is not numbered after their last commit. */
  readonly stale: number;
  /** Records in which a reader's copy differs from the database at the end. */
  readonly differing: number;
  readonly examples: readonly string[];
}

/** Judges a soak: COVER, PREFIX, ONCE, dense numbers, and copies that equal their source. */
export function judge({ committed, feeds, records, head }: SoakEvidence): SoakVerdict {
  const examples: string[] = [];
  const note = (text: string) => {
    if (examples.length < 10) examples.push(text);
  };
  let lost = 0;
  let doubled = 0;
  let differing = 0;
  const keyOf = new Map<bigint, string>();
  for (const [reader, feed] of feeds.entries()) {
    doubled += feed.faults.length;
    for (const fault of feed.faults) note(`reader ${reader}: ${fault}`);
    const missing = missingNumbers(feed, head);
    lost += missing.length;
    if (missing.length > 0) note(`reader ${reader} never got ${missing.slice(0, 5)}`);
    for (const [n, number] of feed.numbers.entries()) {
      const key = feed.keys[n] ?? '';
      if ((keyOf.get(number) ?? key) !== key) {
        doubled++;
        note(`${number} was ${keyOf.get(number)} and ${key}`);
      }
      keyOf.set(number, key);
    }
    for (const key of new Set([...records.keys(), ...feed.replica.keys()])) {
      if (records.get(key) === feed.replica.get(key)) continue;
      differing++;
      note(`reader ${reader} has ${key} as ${feed.replica.get(key)}, it is ${records.get(key)}`);
    }
  }
  const stale = staleKeys(committed, keyOf, records);
  for (const text of stale) note(text);
  return { lost, doubled, stale: stale.length, differing, examples };
}

function missingNumbers({ numbers }: ReadFeed, head: bigint): bigint[] {
  const got = new Set(numbers);
  const missing: bigint[] = [];
  for (let number = 1n; number <= head; number++) if (!got.has(number)) missing.push(number);
  return missing;
}

/**
 * A record that came and went between two steps owes no pulse; that nobody keeps a copy of it is judged by the
 * copies. All others must have been pulsed after the head that their last commit saw.
 */
function staleKeys(
  committed: readonly WrittenTransaction[],
  keyOf: ReadonlyMap<bigint, string>,
  records: Replica,
): string[] {
  const owed = new Map<string, bigint>();
  for (const { keys, headBefore } of committed) {
    for (const key of keys) if ((owed.get(key) ?? -1n) < headBefore) owed.set(key, headBefore);
  }
  const last = new Map<string, bigint>();
  for (const [number, key] of keyOf) if ((last.get(key) ?? 0n) < number) last.set(key, number);
  return [...owed]
    .filter(([key, headBefore]) => records.has(key) && (last.get(key) ?? 0n) <= headBefore)
    .map(([key, headBefore]) => `${key}: last pulse ${last.get(key)}, last commit after ${headBefore}`);
}
