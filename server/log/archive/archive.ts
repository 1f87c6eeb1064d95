import type { Queryable } from '../../base/db/index.ts';
import { PulsefeedError } from '../../base/errors.ts';
import { readEntries, type SegmentEntry, type SegmentPart } from './manifest.ts';
import { checksumOf, decodeSegment, type Segment } from './segment.ts';
import type { ArchiveStore } from './store.ts';

/** Pulses of decoded segments kept in memory, and at least one segment: 50,000 take about 5 MB. */
const mostCached = 400_000;
/** Entries of the manifest read at a time: a page seldom needs more than a few. */
const entriesAtOnce = 64;

/**
 * Reads segments, each checked against the manifest whenever it comes from the store: its length and checksum, its part
 * and the number of its pulses. Keeps the last few.
 */
export class Archive {
  readonly store: ArchiveStore | undefined;
  readonly #cache = new Map<string, Segment>();

  /** @param store undefined where this process has none configured: then nothing that is archived can be read. */
  constructor(store: ArchiveStore | undefined) {
    this.store = store;
  }

  /**
   * The pulses of a part that has a file.
   * @throws EE-304 when it is missing, damaged or out of reach.
   */
  async load(entry: SegmentEntry): Promise<Segment> {
    const { file } = entry;
    if (file === null) throw new Error('the part has no file');
    const known = this.#cache.get(file);
    if (known !== undefined) {
      this.#cache.delete(file);
      this.#cache.set(file, known);
      return known;
    }
    const segment = await this.loadFresh(entry);
    this.#cache.set(file, segment);
    let cached = 0;
    for (const { seqs } of this.#cache.values()) cached += seqs.length;
    for (const [oldest, { seqs }] of this.#cache) {
      if (cached <= mostCached || this.#cache.size === 1) break;
      this.#cache.delete(oldest);
      cached -= seqs.length;
    }
    return segment;
  }

  /** As `load`, from the store in any case. */
  async loadFresh(entry: SegmentPart): Promise<Segment> {
    const { file, sha256, bytes: size, after, upTo, rows } = entry;
    if (this.store === undefined) throw unreadable(entry, new Error('no setting `archive` says where it is'));
    const bytes = await this.store.get(file ?? '').catch((error: unknown) => {
      throw unreadable(entry, error);
    });
    if (bytes === undefined) throw unreadable(entry, new Error(`${file} is missing`));
    if (BigInt(bytes.byteLength) !== size || checksumOf(bytes) !== sha256)
      throw unreadable(entry, new Error(`${file} is not what was written: its size or checksum differs`));
    let segment: Segment;
    try {
      segment = decodeSegment(bytes);
    } catch (error) {
      throw unreadable(entry, error);
    }
    if (segment.after !== after || segment.upTo !== upTo || segment.seqs.length !== rows)
      throw unreadable(entry, new Error(`${file} holds another part than the manifest says`));
    return segment;
  }

  /**
   * The parts with numbers above `after`, in order, up to the one that ends at `archivedTo`.
   * @throws EE-304 when the manifest has a hole.
   */
  async *parts(db: Queryable, after: bigint, archivedTo: bigint): AsyncGenerator<SegmentEntry> {
    for (let place = after, first = true; place < archivedTo; ) {
      const entries = await readEntries(db, place, entriesAtOnce);
      if (entries.length === 0) throw hole(place, archivedTo);
      for (const entry of entries) {
        if (entry.after > place || (!first && entry.after !== place)) throw hole(place, entry.after);
        first = false;
        place = entry.upTo;
        yield entry;
        if (place >= archivedTo) return;
      }
    }
  }
}

/** What a reader is told; what exactly is wrong is for the operator. */
function unreadable({ after, upTo }: SegmentPart, cause: unknown): PulsefeedError {
  return new PulsefeedError(
    'EE-304',
    `Numbers ${after + 1n} to ${upTo} are in the archive, and that part of it cannot be read now.`,
    { cause, headers: { 'Retry-After': '60' } },
  );
}

function hole(after: bigint, before: bigint): PulsefeedError {
  return new PulsefeedError(
    'EE-304',
    `Numbers ${after + 1n} to ${before} should be in the archive, and its manifest does not name them.`,
  );
}
