import type { SourceRecord } from './canonical.ts';
import type { Schema } from './metadata.ts';

/** Names one record, as a pulse does. */
export interface RecordRef {
  readonly resource: string;
  readonly key: string;
}

/** A record to be written over whatever the copy has under this name. */
export interface Upsert extends RecordRef {
  readonly record: SourceRecord;
}

/**
 * What one `apply` writes, all or nothing. The upserts come parents first, the deletes children first; the upserts are to
 * be written before the deletes. A record is named at most once.
 */
export interface Batch {
  readonly upserts: readonly Upsert[];
  readonly deletes: readonly RecordRef[];
  /**
   * Gives the text to be returned by `cursor()` from now on, to be saved together with the records, never before them. It is
   * given what could not be written, so that this too survives a crash.
   */
  cursor(deferred: readonly RecordRef[]): string;
  /** The number of the walk that met these records; kept with each upserted record for `stale`. */
  readonly generation: number;
}

/** What an `apply` could not write because a parent is missing (or children remain); the client keeps these and tries again. */
export interface Applied {
  readonly deferred: readonly RecordRef[];
}

/**
 * Where the copy is kept. One owner at a time; `apply` is never called twice at once. After a crash inside `apply` the
 * store must show either everything of the batch or nothing of its cursor (part of the records is harmless: they are
 * written again).
 */
export interface Store {
  /**
   * Prepares the store for these resources, before everything else; may be called again with other resources. Whoever opened
   * the store last owns it: an earlier owner is refused from then on. @throws ReplicationError `store`, `not-alone`.
   */
  open(schema: Schema): Promise<void>;
  /** The cursor of the last complete batch, exactly as given; `undefined` in a new store. */
  cursor(): Promise<string | undefined>;
  apply(batch: Batch): Promise<Applied>;
  /** Up to `limit` records of a walk before `generation`; `undefined` when the store cannot say. */
  stale(generation: number, limit: number): Promise<readonly RecordRef[] | undefined>;
  /** Yields every record of the resource once, as read back from the store; `undefined` when the store cannot read back. */
  records(resource: string): AsyncIterable<Upsert> | undefined;
  /** Which of these keys the copy has; only called when `records` works. */
  has(resource: string, keys: readonly string[]): Promise<ReadonlySet<string>>;
  /** Releases everything. Safe to call twice. */
  close(): Promise<void>;
}
