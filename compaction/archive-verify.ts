import type { Queryable } from '../server/base/db/index.ts';
import { PulsefeedError } from '../server/base/errors.ts';
import { type Archive, archivedTo, type Segment, type SegmentEntry } from '../server/log/index.ts';

/** What verifying the archive found. */
export interface ArchiveVerified {
  readonly segments: number;
  readonly rows: number;
  readonly bytes: number;
  /** One line a fault; empty when every archived number can be served. */
  readonly faults: readonly string[];
  /** Files in the store that the manifest does not name: of a step that was ended, or of another database. */
  readonly strangers: readonly string[];
}

/**
 * Reads every segment anew and checks it against the manifest: checksum, part, number of pulses; that the parts follow on
 * one another from the first to the end of the archive; that each audience is the one that the database knows; that the
 * postings of narrow feeds are those of the segments; and that no archived number is left in the table. Finds all
 * faults, not only the first.
 */
export async function verifyArchive(
  db: Queryable,
  archive: Archive,
  onPart: (upTo: bigint, end: bigint) => void = () => undefined,
): Promise<ArchiveVerified> {
  const end = await archivedTo(db);
  const faults: string[] = [];
  const seen = { segments: 0, rows: 0, bytes: 0, postings: 0n };
  const files = new Set<string>();
  const note = (error: unknown) => faults.push(reasonOf(error));
  try {
    for await (const entry of archive.parts(db, 0n, end)) {
      onPart(entry.upTo, end);
      if (entry.file === null) continue;
      files.add(entry.file);
      seen.segments += 1;
      seen.rows += entry.rows;
      seen.bytes += Number(entry.bytes);
      try {
        seen.postings += await checkSegment(db, entry, await archive.loadFresh(entry), faults);
      } catch (error) {
        note(error);
      }
    }
  } catch (error) {
    note(error);
  }
  if (faults.length === 0) await checkTable(db, end, seen.postings, faults);
  const listed = archive.store === undefined ? [] : await archive.store.list();
  const strangers = listed.filter(name => !files.has(name)).sort();
  return { segments: seen.segments, rows: seen.rows, bytes: seen.bytes, faults, strangers };
}

/** Returns how many postings the segment should have in the database. */
async function checkSegment(
  db: Queryable,
  entry: SegmentEntry,
  segment: Segment,
  faults: string[],
): Promise<bigint> {
  const known = await db.query<{ id: number; feeds: number[]; narrow: number[] }>({
    text: 'select id, feeds, narrow from pulsefeed.audience where id = any ($1::integer[])',
    values: [segment.audiences.map(({ id }) => id)],
  });
  const byId = new Map(known.map(row => [row.id, row]));
  for (const { id, feeds } of segment.audiences) {
    if (byId.get(id)?.feeds.join() !== feeds.join())
      faults.push(`${entry.file}: audience ${id} is for feeds ${feeds}, in the database it is not`);
  }
  const feedIds: number[] = [];
  const seqs: string[] = [];
  for (const [row, seq] of segment.seqs.entries()) {
    const audience = segment.audiences[segment.audienceOf[row] ?? 0];
    for (const feed of byId.get(audience?.id ?? 0)?.narrow ?? []) {
      feedIds.push(feed);
      seqs.push(seq.toString());
    }
  }
  const [found] = await db.query<{ postings: bigint }>({
    text: `
select count(*) as postings from unnest($1::integer[], $2::bigint[]) n (feed_id, seq)
cross join lateral (
  select from pulsefeed.event_feed p where p.feed_id = n.feed_id and p.seq = n.seq offset 0
) p`,
    values: [feedIds, seqs],
  });
  if (found?.postings !== BigInt(seqs.length))
    faults.push(`${entry.file}: of ${seqs.length} postings ${found?.postings ?? 0n} are in the database`);
  return BigInt(seqs.length);
}

async function checkTable(db: Queryable, end: bigint, postings: bigint, faults: string[]): Promise<void> {
  const [row] = await db.query<{ left: bigint; postings: bigint; now: bigint }>({
    text: `
select (select count(*) from pulsefeed.entity_event where seq <= $1) as left,
  (select count(*) from pulsefeed.event_feed where seq <= $1) as postings`,
    values: [end],
  });
  if (row?.left !== 0n) faults.push(`${row?.left} archived numbers are in the table as well`);
  if (row?.postings !== postings)
    faults.push(`the database has ${row?.postings} postings of archived numbers, the segments ${postings}`);
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const cause =
    error instanceof PulsefeedError && error.cause instanceof Error ? `: ${error.cause.message}` : '';
  return `${error.message}${cause}`;
}
