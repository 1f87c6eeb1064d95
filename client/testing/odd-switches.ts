/** How the odd server misbehaves. Chances are per answer, from 0 to 1. Everything off is a well-behaved server. */
export interface OddSwitches {
  /** Answers come late, by up to this many milliseconds. */
  lateMs: number;
  /** Chance that a page tells one of its pulses twice. */
  duplicatePulse: number;
  /** Chance that the page before is answered once more. */
  repeatPage: number;
  /** Chance of a 429, and the form of its `Retry-After`. */
  throttle: number;
  retryAfter: 'seconds' | 'date' | 'none';
  /** Chance of a 500, of JSON that breaks off, of an HTML page with 200, of a connection that is reset, of an answer that drips. */
  fail: number;
  truncate: number;
  html: number;
  reset: number;
  drip: number;
  /** Int64 as strings. */
  quotedNumbers: boolean;
  nextLink: 'yes' | 'none' | 'circle' | 'foreign' | 'refused';
  /** `sorts-when-asked`: only with $orderby; `within-page`: pages are right but shuffled; `across`: any rows in any page; `late`: one pulse is told after its page. */
  order: 'ascending' | 'sorts-when-asked' | 'within-page' | 'across' | 'late';
  /** Whether `$count` is answered. */
  counts: boolean;
  /** Chance that a page is empty though it has a nextLink. */
  emptyPage: number;
  /** Statuses by which `in`, `or` and key URLs are refused; 0 allows them. */
  inStatus: number;
  orStatus: number;
  pathStatus: number;
  /** Keys that one `or` filter may have, and characters that a URL may have. */
  maxOr: number;
  maxUrl: number;
  /** Chance that a batch answer leaves a record out, and the most records it gives. */
  omit: number;
  maxRows: number;
  /** Key URLs with `%2F` get 404: from a proxy, or from the service, whose router takes the slash for a separator. */
  slashes: 'allowed' | 'proxy-404' | 'service-404';
  /** A resource that the service says it does not have. */
  lostResource: string | undefined;
  /** Rows of a page of EntityEvent. */
  pageSize: number;
  sizeApplied: boolean;
  /** `@pulsefeed.head` and the others are given to whoever asks for them. */
  annotations: boolean;
  /** `Prefer: wait` is obeyed. */
  waits: boolean;
  /** Questions after a number above this get 410 until it is cleared. */
  goneAbove: bigint | undefined;
  /** Always 410. */
  goneAlways: boolean;
  /** The filter on EntityEventSequence is ignored. */
  ignoresFilter: boolean;
  /** Answers are compressed. */
  compress: boolean;
  /** Requests without this Authorization header get `tokenStatus`. */
  token: string | undefined;
  tokenStatus: number;
}

/** A server that does everything right. */
export const WELL_BEHAVED: OddSwitches = {
  lateMs: 0,
  duplicatePulse: 0,
  repeatPage: 0,
  throttle: 0,
  retryAfter: 'seconds',
  fail: 0,
  truncate: 0,
  html: 0,
  reset: 0,
  drip: 0,
  quotedNumbers: false,
  nextLink: 'yes',
  order: 'ascending',
  counts: true,
  emptyPage: 0,
  inStatus: 0,
  orStatus: 0,
  pathStatus: 0,
  maxOr: 1000,
  maxUrl: 100_000,
  omit: 0,
  maxRows: 1000,
  slashes: 'allowed',
  lostResource: undefined,
  pageSize: 50,
  sizeApplied: true,
  annotations: false,
  waits: false,
  goneAbove: undefined,
  goneAlways: false,
  ignoresFilter: false,
  compress: false,
  token: undefined,
  tokenStatus: 401,
};
