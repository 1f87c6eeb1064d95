/** How failures are retried. Each wait is a random share of `baseMs * 2^attempt`, at most `capMs` ("full jitter"). */
export interface RetryOptions {
  /** Tries of one request before the failure is final; 8 by default, which spans about two minutes. */
  readonly attempts: number;
  readonly baseMs: number;
  readonly capMs: number;
  /** How often in a row one request may be told to wait by `Retry-After`; 100 by default. */
  readonly throttles: number;
  /** The longest `Retry-After` that is obeyed; one hour by default, the period of the usual quotas. Longer ones are cut to it. */
  readonly maxRetryAfterMs: number;
}

export const DEFAULT_RETRY: RetryOptions = {
  attempts: 8,
  baseMs: 500,
  capMs: 30_000,
  throttles: 100,
  maxRetryAfterMs: 3_600_000,
};

/** Milliseconds to wait by a `Retry-After` header (seconds or an HTTP date, RFC 9110 10.2.3); `undefined` when there is none to obey. */
export function retryAfterMs(header: string | undefined, nowMs: number): number | undefined {
  if (header === undefined) return undefined;
  const text = header.trim();
  if (/^\d+(\.\d+)?$/.test(text)) return Number(text) * 1000;
  const at = Date.parse(text);
  return Number.isNaN(at) ? undefined : Math.max(0, at - nowMs);
}

/** The wait before try number `attempt` + 2 (the first failure has attempt 0). `random` is in [0, 1). */
export function backoffMs(attempt: number, options: RetryOptions, random: number): number {
  return Math.min(options.capMs, options.baseMs * 2 ** attempt) * random;
}

/**
 * What an HTTP status asks for: `answer` is given to the caller, `retry` is a passing failure, `throttle` is a demand to
 * slow down, `credentials` means that the token was not taken. RESO Web API Core 2.6.1 uses 403 for the last as well.
 */
export function classifyStatus(status: number): 'answer' | 'retry' | 'throttle' | 'credentials' {
  if (status === 429 || status === 503) return 'throttle';
  if (status === 401 || status === 403) return 'credentials';
  if (status === 408 || status === 425 || (status >= 500 && status !== 501 && status !== 505)) return 'retry';
  return 'answer';
}
