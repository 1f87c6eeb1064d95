/** One retained pulse of a key, with the feeds that may see it. */
export interface KeyPulse {
  readonly sequence: bigint;
  readonly feeds: ReadonlySet<number>;
}

/**
 * What each pulse of one key loses (COMPACT): the feeds that a later one has. `coveredBy` maps a private feed to the
 * feeds in which its consumer is told of this record as well: those it holds and that show the record, or, when none
 * does, all that it holds. Only pulses with a loss are in the answer; one that loses all its feeds goes.
 *
 * The twin of `server/log/retire-sql.ts`, for one key and in words; a test keeps the two equal.
 */
export function losses(
  pulses: readonly KeyPulse[],
  coveredBy: ReadonlyMap<number, ReadonlySet<number>> = new Map(),
): Map<bigint, Set<number>> {
  const newestFirst = [...pulses].sort((a, b) => (a.sequence < b.sequence ? 1 : -1));
  const later = new Set<number>();
  const lost = new Map<bigint, Set<number>>();
  for (const { sequence, feeds } of newestFirst) {
    const gone = new Set([...feeds].filter(feed => isCovered(feed, later, coveredBy)));
    if (gone.size > 0) lost.set(sequence, gone);
    for (const feed of feeds) later.add(feed);
  }
  return lost;
}

function isCovered(
  feed: number,
  later: ReadonlySet<number>,
  coveredBy: ReadonlyMap<number, ReadonlySet<number>>,
): boolean {
  if (later.has(feed)) return true;
  return [...(coveredBy.get(feed) ?? [])].some(other => later.has(other));
}
