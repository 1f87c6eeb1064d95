import { createHash } from 'node:crypto';
import { gunzipSync, gzipSync } from 'node:zlib';

/** A distinct set of feeds among the pulses of a segment, as `pulsefeed.audience` has it. */
export interface SegmentAudience {
  readonly id: number;
  /** Ascending. */
  readonly feeds: readonly number[];
}

/** The pulses of one part of the log, ascending by number, as parallel columns. */
export interface Segment {
  readonly epoch: number;
  /** The part is `(after, upTo]`. */
  readonly after: bigint;
  readonly upTo: bigint;
  readonly seqs: BigInt64Array;
  readonly resourceIds: Int16Array;
  readonly keys: readonly string[];
  /** Places in `audiences`. */
  readonly audienceOf: Int32Array;
  readonly audiences: readonly SegmentAudience[];
  /** Names of the resources, for whoever reads the file without the database. */
  readonly resources: readonly (readonly [id: number, name: string])[];
}

/** Written into each file; another format gets another name. */
const format = 'pulsefeed-segment-1';

interface SegmentFile {
  readonly format: string;
  readonly epoch: number;
  readonly after: string;
  readonly upTo: string;
  readonly resources: readonly (readonly [number, string])[];
  readonly audiences: readonly (readonly [number, readonly number[]])[];
  /** The distance to the number before it, to `after` for the first: text where JSON's numbers are not exact. */
  readonly seq: readonly (number | string)[];
  readonly resource: readonly number[];
  readonly key: readonly string[];
  readonly audience: readonly number[];
}

/** The segment as it is stored: one JSON document of columns, compressed. The same segment gives the same bytes. */
export function encodeSegment(segment: Segment): Buffer {
  let last = segment.after;
  const file: SegmentFile = {
    format,
    epoch: segment.epoch,
    after: segment.after.toString(),
    upTo: segment.upTo.toString(),
    resources: segment.resources,
    audiences: segment.audiences.map(({ id, feeds }) => [id, feeds] as const),
    seq: Array.from(segment.seqs, seq => {
      const step = seq - last;
      last = seq;
      return step <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(step) : step.toString();
    }),
    resource: [...segment.resourceIds],
    key: segment.keys,
    audience: [...segment.audienceOf],
  };
  return gzipSync(JSON.stringify(file), { level: 6 });
}

/**
 * Reads what `encodeSegment` wrote.
 * @throws Error for anything else, also for columns of different lengths or numbers outside the part.
 */
export function decodeSegment(bytes: Uint8Array): Segment {
  const file = JSON.parse(gunzipSync(bytes).toString('utf8')) as SegmentFile;
  if (file.format !== format) throw new Error(`the format is ${file.format}, not ${format}`);
  const after = BigInt(file.after);
  const upTo = BigInt(file.upTo);
  const rows = file.seq.length;
  if (file.resource.length !== rows || file.key.length !== rows || file.audience.length !== rows)
    throw new Error('the columns differ in length');
  const seqs = new BigInt64Array(rows);
  let last = after;
  for (const [row, step] of file.seq.entries()) {
    const seq = last + BigInt(step);
    if (seq <= last || seq > upTo) throw new Error(`number ${seq} is not in its place`);
    seqs[row] = seq;
    last = seq;
  }
  if (file.audience.some(place => file.audiences[place] === undefined))
    throw new Error('an audience is missing');
  return {
    epoch: file.epoch,
    after,
    upTo,
    seqs,
    resourceIds: Int16Array.from(file.resource),
    keys: file.key,
    audienceOf: Int32Array.from(file.audience),
    audiences: file.audiences.map(([id, feeds]) => ({ id, feeds })),
    resources: file.resources,
  };
}

/** The checksum that the manifest keeps of a stored file. */
export function checksumOf(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}

/** The place of the first pulse above `seq`. */
export function firstAbove({ seqs }: Pick<Segment, 'seqs'>, seq: bigint): number {
  let low = 0;
  let high = seqs.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((seqs[middle] ?? 0n) > seq) high = middle;
    else low = middle + 1;
  }
  return low;
}
