/**
 * Why a replication stopped. A program branches on these; the message is for people.
 *
 * - `usage`: an option is wrong.
 * - `unreachable`: the source could not be reached, or kept failing, for as long as the retries allow.
 * - `throttled`: the source kept answering 429 or 503 with `Retry-After`.
 * - `bad-answer`: the source kept answering something that is not the OData answer asked for (HTML, cut JSON, a wrong shape).
 * - `refused`: the source answered a definite error (400, 403, 404 on a collection) and no other way of asking was left.
 * - `unauthorised`: the credentials were not taken, also after one renewal.
 * - `metadata`: `$metadata` cannot be read or lacks what is needed.
 * - `unordered`: pulses do not come in the order of their numbers and advancing could lose some.
 * - `no-progress`: the source repeats itself (a nextLink to the same page, a filter that is ignored).
 * - `gone`: the source answers 410 to a walk from the very beginning, or over and over.
 * - `other-source`: the copy was made from another source.
 * - `not-alone`: another process writes to the same copy.
 * - `store`: the copy cannot be opened or written.
 */
export type ReplicationErrorCode =
  | 'usage'
  | 'unreachable'
  | 'throttled'
  | 'bad-answer'
  | 'refused'
  | 'unauthorised'
  | 'metadata'
  | 'unordered'
  | 'no-progress'
  | 'gone'
  | 'other-source'
  | 'not-alone'
  | 'store';

/** The error that ends a replication. `status` is the last HTTP status and `url` the last URL, where there was one. */
export class ReplicationError extends Error {
  readonly code: ReplicationErrorCode;
  readonly status: number | undefined;
  readonly url: string | undefined;

  constructor(
    code: ReplicationErrorCode,
    message: string,
    where: { status?: number | undefined; url?: string | undefined; cause?: unknown } = {},
  ) {
    super(message, where.cause === undefined ? undefined : { cause: where.cause });
    this.name = 'ReplicationError';
    this.code = code;
    this.status = where.status;
    this.url = where.url;
  }
}

/** The message of anything that was thrown. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
