import type { Queryable } from '../../base/db/index.ts';

/** One part of the archive as the manifest in the database has it. */
export interface SegmentEntry extends SegmentPart {
  readonly writtenAt: Date;
}

/** The same before it is written down. */
export interface SegmentPart {
  /** The part is `(after, upTo]`. */
  readonly after: bigint;
  readonly upTo: bigint;
  readonly epoch: number;
  readonly rows: number;
  /** Null where compaction left nothing of the part. */
  readonly file: string | null;
  readonly bytes: bigint;
  readonly sha256: string | null;
  /** The feeds with a bit that any of its pulses has. */
  readonly sharedFeeds: readonly number[];
}

/** The parts that hold numbers above `after`, in their order, at most `limit`. */
export function readEntries(db: Queryable, after: bigint, limit: number): Promise<SegmentEntry[]> {
  return db.query<SegmentEntry>({
    text: `
select after, up_to as "upTo", epoch, rows, file, bytes, sha256, shared_feeds as "sharedFeeds",
  written_at as "writtenAt"
from pulsefeed.archive_segment
where up_to > $1
order by up_to
limit $2`,
    values: [after, limit],
  });
}

/** The last number that is archived; 0 where nothing is. */
export async function archivedTo(db: Queryable): Promise<bigint> {
  const [row] = await db.query<{ archived_to: bigint }>({
    text: 'select archived_to from pulsefeed.archive',
  });
  return row?.archived_to ?? 0n;
}
