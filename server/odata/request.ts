import type { Viewer } from '../base/auth/viewer.ts';
import type { Queryable } from '../base/db/index.ts';

/** One request as the protocol sees it: of the connection, or a member of a batch. */
export interface ODataRequest {
  readonly method: string;
  /** Below the service root, percent-encoded as it came. */
  readonly rawPath: string;
  /** Behind the question mark, percent-encoded as it came. */
  readonly rawQuery: string;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body: string | undefined;
  /** Absolute, without a slash at its end. */
  readonly root: string;
  readonly viewer: Viewer;
  /** The open transaction of the atomicity group that the request belongs to; absent: it stands alone. */
  readonly tx?: Queryable;
}

/** What goes back. */
export interface ODataAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | undefined;
  /** Which kind of request it was, for metrics. */
  readonly route: string;
  readonly rows?: number;
}
