import type { Db, Queryable } from '../../base/db/index.ts';
import { PulsefeedError } from '../../base/errors.ts';
import { readEpochHead } from '../epoch-sql.ts';
import { lagEnd, type RetireLag } from '../retire.ts';
import type { Archive } from './archive.ts';
import { archivedTo, type SegmentPart } from './manifest.ts';
import {
  type AudienceRow,
  deletePart,
  findAudiences,
  internAudiences,
  type MovedRow,
  movedRows,
  partDigest,
} from './move-sql.ts';
import { checksumOf, encodeSegment, type Segment } from './segment.ts';
import type { ArchiveStore } from './store.ts';

/** Where a step of archiving stands; a test may end it there. */
export type MovePoint = 'read' | 'interned' | 'written' | 'verified' | 'deleted';

/** What a step is asked to do. */
export interface MoveOptions {
  /** How much of the log stays in the table. */
  readonly window: RetireLag;
  /** Pulses of one part. */
  readonly rows: number;
  /** True: a part that is smaller is left for later, so that a slow feed does not make a file a minute. */
  readonly wholeParts: boolean;
  /** Nothing above this is archived; read anew in each step. */
  readonly notAbove?: (tx: Queryable) => Promise<bigint | undefined>;
  /** Called at each point; what it throws ends the step there. */
  readonly at?: (point: MovePoint) => Promise<void>;
}

/** What one step did. */
export type MoveOutcome =
  /** Nothing is old enough, or not enough for a part. */
  | { readonly kind: 'idle' }
  /** Another session compacts, or archived the same part first. */
  | { readonly kind: 'standby' }
  | {
      readonly kind: 'archived';
      readonly after: bigint;
      readonly upTo: bigint;
      /** Pulses taken from the table. */
      readonly examined: number;
      /** Those that the segment holds; the others were covered by later ones. */
      readonly rows: number;
      readonly bytes: number;
    };

/** A part of tens of thousands of rows in one statement: one that takes minutes is stuck. */
const stepLimits = { statementTimeoutMs: 300_000, idleTimeoutMs: 60_000 };

/**
 * Moves the next part of the log to the archive: reads it from one snapshot, compacts it, writes the segment, reads it
 * back and compares, and only then deletes it from the table, in the transaction that names the segment in the manifest.
 * Ended anywhere before that commit, the log is as it was and a file is left that nothing names; after it, all is done.
 * Any number may run at once: whoever commits a part second finds that the archive ends elsewhere, and changes nothing.
 * @throws EE-304 when what was read back is not what was written, EE-303 for a head that was restored.
 */
export async function archiveStep(db: Db, archive: Archive, options: MoveOptions): Promise<MoveOutcome> {
  const { store } = archive;
  if (store === undefined)
    throw new PulsefeedError('EE-700', 'Say where the archive is: --archive FOLDER or s3://bucket/prefix.');
  const { at = async () => undefined } = options;
  const part = await readPart(db, options);
  if (part === undefined) return { kind: 'idle' };
  await at('read');
  const kept = compacted(part);
  const audiences = await audiencesOf(db, kept);
  await at('interned');
  const segment = segmentOf(part, kept, audiences);
  const bytes = encodeSegment(segment);
  const entry = await entryOf(db, segment, bytes);
  if (entry.file !== null) {
    await store.put(entry.file, bytes);
    await at('written');
    await archive.loadFresh(entry);
  }
  await at('verified');
  return db.transaction(tx => commitPart(tx, store, part, { entry, at }), stepLimits);
}

interface Part {
  readonly after: bigint;
  readonly upTo: bigint;
  readonly epoch: number;
  readonly digest: string;
  readonly rows: readonly MovedRow[];
  readonly resources: readonly (readonly [number, string])[];
  readonly feedsOf: ReadonlyMap<number, readonly number[]>;
}

/** Reads a part in one snapshot, without an id of a transaction, so that nobody waits for it. */
async function readPart(db: Db, options: MoveOptions): Promise<Part | undefined> {
  const { window, rows: limit, wholeParts, notAbove } = options;
  return db.transaction(async tx => {
    await tx.script('set transaction isolation level repeatable read, read only; set local jit = off');
    const head = await readEpochHead(tx);
    if (head === undefined) throw new PulsefeedError('EE-300', 'The log has not been set up.');
    if (!head.intact)
      throw new PulsefeedError('EE-303', 'The database lost numbers and has no new epoch yet.');
    const after = await archivedTo(tx);
    const held = await notAbove?.(tx);
    const end = await lagEnd(tx, window);
    const target = held !== undefined && held < end ? held : end;
    if (target <= after) return undefined;
    const [found] = await tx.query<{ last: bigint | null; rows: number }>({
      text: `
select max(seq) as last, count(*)::int as rows
from (select seq from pulsefeed.entity_event where seq > $1 and seq <= $2 order by seq limit $3) p`,
      values: [after, target, limit],
    });
    const { last = null, rows: count = 0 } = found ?? {};
    if (last === null || (wholeParts && count < limit)) return undefined;
    const upTo = count < limit ? target : last;
    // Nested loops over an index, never the whole log.
    await tx.script(
      "set local enable_seqscan = off; set local enable_mergejoin = off; set local work_mem = '64MB'",
    );
    const rows = await tx.query<MovedRow>(movedRows(after, upTo));
    const [digest] = await tx.query<{ digest: string }>(partDigest(after, upTo));
    const resources = await tx.query<{ id: number; name: string }>({
      text: 'select id, name from pulsefeed.resource where id = any ($1::smallint[]) order by id',
      values: [[...new Set(rows.map(row => row.resource_id))]],
    });
    const sets = await tx.query<{ id: number; feeds: number[] }>({
      text: 'select id, feeds from pulsefeed.audience where id = any ($1::integer[])',
      values: [[...new Set(rows.map(row => row.audience_id))]],
    });
    return {
      ...{ after, upTo, epoch: head.epoch, digest: digest?.digest ?? '' },
      rows,
      resources: resources.map(({ id, name }) => [id, name] as const),
      feedsOf: new Map(sets.map(({ id, feeds }) => [id, feeds])),
    };
  }, stepLimits);
}

/** A pulse that goes into the segment, with the feeds that are left to it, as text. */
interface KeptRow {
  readonly row: MovedRow;
  readonly feeds: string;
}

function compacted({ rows, feedsOf }: Part): KeptRow[] {
  const kept: KeptRow[] = [];
  for (const row of rows) {
    const all = feedsOf.get(row.audience_id);
    if (all === undefined) throw new Error(`audience ${row.audience_id} is missing`);
    const feeds = row.covered === null ? all : all.filter(feed => row.covered?.includes(feed) !== true);
    if (feeds.length > 0) kept.push({ row, feeds: feeds.join(',') });
  }
  return kept;
}

/** The audience of each set of feeds, interned where it was missing. */
async function audiencesOf(db: Db, kept: readonly KeptRow[]): Promise<ReadonlyMap<string, number>> {
  const sets = [...new Set(kept.map(({ feeds }) => feeds))];
  let rows = await db.query<AudienceRow>(findAudiences(sets));
  const missing = rows.filter(({ id }) => id === null).map(({ feeds }) => feeds);
  if (missing.length > 0) {
    await db.transaction(async tx => {
      await tx.query({ text: 'select from pulsefeed.log_head for update' });
      await tx.query(internAudiences(missing));
    }, stepLimits);
    rows = await db.query<AudienceRow>(findAudiences(sets));
  }
  const found = new Map<string, number>();
  for (const { feeds, id } of rows) {
    if (id === null) throw new Error(`the audience of feeds ${feeds} was not interned`);
    found.set(feeds, id);
  }
  return found;
}

function segmentOf(part: Part, kept: readonly KeptRow[], audiences: ReadonlyMap<string, number>): Segment {
  const sets = [...new Set(kept.map(({ feeds }) => feeds))];
  const places = new Map(sets.map((feeds, place) => [feeds, place]));
  return {
    epoch: part.epoch,
    after: part.after,
    upTo: part.upTo,
    seqs: BigInt64Array.from(kept, ({ row }) => row.seq),
    resourceIds: Int16Array.from(kept, ({ row }) => row.resource_id),
    keys: kept.map(({ row }) => row.key),
    audienceOf: Int32Array.from(kept, ({ feeds }) => places.get(feeds) ?? 0),
    audiences: sets.map(feeds => ({ id: audiences.get(feeds) ?? 0, feeds: feeds.split(',').map(Number) })),
    resources: part.resources,
  };
}

/** What the manifest will say. The name tells the part and the content: no file is ever overwritten with another. */
async function entryOf(db: Queryable, segment: Segment, bytes: Uint8Array): Promise<SegmentPart> {
  const { after, upTo, epoch } = segment;
  const rows = segment.seqs.length;
  const place = { after, upTo, epoch, rows };
  if (rows === 0) return { ...place, file: null, bytes: 0n, sha256: null, sharedFeeds: [] };
  const sha256 = checksumOf(bytes);
  const digits = (seq: bigint) => seq.toString().padStart(19, '0');
  const file = `segment-${epoch}-${digits(after + 1n)}-${digits(upTo)}-${sha256.slice(0, 16)}.json.gz`;
  const shared = await db.query<{ id: number }>({
    text: 'select id from pulsefeed.feed where bit is not null and id = any ($1::integer[]) order by id',
    values: [[...new Set(segment.audiences.flatMap(({ feeds }) => feeds))]],
  });
  const sharedFeeds = shared.map(({ id }) => id);
  return { ...place, file, bytes: BigInt(bytes.byteLength), sha256, sharedFeeds };
}

/**
 * Under the lock of compaction nobody else takes pulses away, so the part is compared with what was read once more:
 * compaction or tombstones may have been there meanwhile, and what they dropped must not come back.
 */
async function commitPart(
  tx: Queryable,
  store: ArchiveStore,
  part: Part,
  { entry, at }: { entry: SegmentPart; at: (point: MovePoint) => Promise<void> },
): Promise<MoveOutcome> {
  const { after, upTo, rows } = part;
  const locked = await tx.query({ text: 'select from pulsefeed.compaction for update skip locked' });
  if (locked.length === 0) return { kind: 'standby' };
  const [mark] = await tx.query<{ archived_to: bigint }>({
    text: 'select archived_to from pulsefeed.archive for update',
  });
  await tx.script('set local enable_seqscan = off; set local jit = off');
  const [now] = await tx.query<{ digest: string }>(partDigest(after, upTo));
  if (mark?.archived_to !== after || now?.digest !== part.digest) return { kind: 'standby' };
  // Somebody may have tidied the store since the file was read back.
  if (entry.file !== null && BigInt((await store.size(entry.file)) ?? -1) !== entry.bytes)
    return { kind: 'standby' };
  const covered = rows.flatMap(row => (row.covered ?? []).map(feed => ({ feed, seq: row.seq.toString() })));
  await deletePart(tx, part, {
    feeds: covered.map(({ feed }) => feed),
    seqs: covered.map(({ seq }) => seq),
  });
  await tx.query({
    text: `
insert into pulsefeed.archive_segment (after, up_to, epoch, rows, file, bytes, sha256, shared_feeds)
values ($1, $2, $3, $4, $5, $6, $7, $8::integer[])`,
    values: [
      after,
      upTo,
      entry.epoch,
      entry.rows,
      entry.file,
      entry.bytes,
      entry.sha256,
      [...entry.sharedFeeds],
    ],
  });
  await tx.query({ text: 'update pulsefeed.archive set archived_to = $1', values: [upTo] });
  await at('deleted');
  return {
    kind: 'archived',
    ...{ after, upTo },
    examined: rows.length,
    rows: entry.rows,
    bytes: Number(entry.bytes),
  };
}
