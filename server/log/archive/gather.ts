import type { Queryable } from '../../base/db/index.ts';
import type { Archive } from './archive.ts';
import type { SegmentEntry } from './manifest.ts';
import { firstAbove } from './segment.ts';

/** Archived pulses as parallel columns, ascending by number. */
export interface ArchivedRows {
  readonly seqs: string[];
  readonly resourceIds: number[];
  readonly keys: string[];
  readonly audienceIds: number[];
}

/** What is looked for. */
export interface Sought {
  /** Numbers above this. */
  readonly above: bigint;
  /** No number above this is wanted. */
  readonly upTo: bigint | undefined;
  /** Where the archive ended in the snapshot that `feeds` is of. */
  readonly archivedTo: bigint;
  /** Pulses of any of these feeds; undefined: of all. */
  readonly feeds: ReadonlySet<number> | undefined;
  /** True when `feeds` are all with a bit: parts of other feeds are then not opened. */
  readonly sharedOnly: boolean;
  /** Enough rows. */
  readonly need: number;
  /** Says which of the rows fulfil what else is asked; absent: all do. */
  readonly keep?: (rows: ArchivedRows) => Promise<ReadonlySet<string>>;
}

/** What was found: every pulse sought in `(above, scannedTo]`, and `scannedTo` is the end unless there are enough. */
export interface Gathered {
  readonly rows: ArchivedRows;
  readonly scannedTo: bigint;
}

/** Rows that are put to `keep` at a time, at least. */
const leastKept = 5_000;

/** Looks through the archive in its order until there are enough. @throws EE-304 when a part of it cannot be read. */
export async function gather(db: Queryable, archive: Archive, sought: Sought): Promise<Gathered> {
  const { above, archivedTo, upTo, need, keep } = sought;
  const rows = emptyRows();
  const batchSize = keep === undefined ? need : Math.max(need, leastKept);
  let batch = emptyRows();
  const settle = async () => {
    const kept = await keep?.(batch);
    append(rows, batch, kept);
    batch = emptyRows();
    return rows.seqs.length >= need;
  };
  for await (const entry of archive.parts(db, above, archivedTo)) {
    if (upTo !== undefined && entry.after >= upTo) break;
    if (!mayHold(entry, sought)) continue;
    const segment = await archive.load(entry);
    const wanted = segment.audiences.map(
      ({ feeds }) => sought.feeds === undefined || feeds.some(feed => sought.feeds?.has(feed)),
    );
    for (let row = firstAbove(segment, above); row < segment.seqs.length; row += 1) {
      const audience = segment.audienceOf[row] ?? 0;
      if (wanted[audience] !== true) continue;
      const seq = segment.seqs[row] ?? 0n;
      batch.seqs.push(seq.toString());
      batch.resourceIds.push(segment.resourceIds[row] ?? 0);
      batch.keys.push(segment.keys[row] ?? '');
      batch.audienceIds.push(segment.audiences[audience]?.id ?? 0);
      if (batch.seqs.length >= batchSize && (await settle())) return { rows, scannedTo: seq };
    }
  }
  await settle();
  return { rows, scannedTo: archivedTo };
}

function mayHold({ file, sharedFeeds }: SegmentEntry, { feeds, sharedOnly }: Sought): boolean {
  if (file === null) return false;
  if (feeds === undefined) return true;
  return sharedOnly ? sharedFeeds.some(feed => feeds.has(feed)) : feeds.size > 0;
}

function emptyRows(): ArchivedRows {
  return { seqs: [], resourceIds: [], keys: [], audienceIds: [] };
}

function append(to: ArchivedRows, from: ArchivedRows, kept: ReadonlySet<string> | undefined): void {
  for (const [row, seq] of from.seqs.entries()) {
    if (kept !== undefined && !kept.has(seq)) continue;
    to.seqs.push(seq);
    to.resourceIds.push(from.resourceIds[row] ?? 0);
    to.keys.push(from.keys[row] ?? '');
    to.audienceIds.push(from.audienceIds[row] ?? 0);
  }
}
