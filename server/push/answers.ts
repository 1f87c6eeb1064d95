/** How a POST ended, before anybody decides what that means. */
export type PostResult =
  | {
      readonly kind: 'answer';
      readonly status: number;
      readonly retryAfter: string | undefined;
      /** The beginning of the body, for the operator. */
      readonly excerpt: string;
    }
  | {
      readonly kind: 'failure';
      /** `refused-target`: the address or URL may not be called; the others are the network's. */
      readonly reason: 'timeout' | 'connection' | 'tls' | 'refused-target' | 'token' | 'token-denied';
      readonly detail: string;
    };

/** What an answer asks for. */
export type Verdict =
  | { readonly kind: 'delivered' }
  /** The endpoint asked for time: not a failure. */
  | { readonly kind: 'wait'; readonly ms: number }
  | { readonly kind: 'retry' }
  | { readonly kind: 'denied' }
  | { readonly kind: 'gone' }
  /** The endpoint will not take this content. */
  | { readonly kind: 'rejected' };

/** An endpoint that names a day in the next century is asked again all the same. */
export const longestWaitMs = 24 * 3_600_000;

/** 4xx that say "not now" and nothing about the content. */
const transient = new Set([408, 425, 429]);
const asksForTime = new Set([429, 503]);

/** The table of answers (RCP-028, Standard Webhooks). `nowMs` is the time that a date in Retry-After is compared with. */
export function classify(result: PostResult, nowMs: number): Verdict {
  if (result.kind === 'failure') {
    return { kind: result.reason === 'token-denied' ? 'denied' : 'retry' };
  }
  const { status, retryAfter } = result;
  if (status >= 200 && status < 300) return { kind: 'delivered' };
  if (asksForTime.has(status)) {
    const ms = retryAfterMs(retryAfter, nowMs);
    if (ms !== undefined) return { kind: 'wait', ms };
  }
  if (status === 401 || status === 403) return { kind: 'denied' };
  if (status === 410) return { kind: 'gone' };
  if (status >= 400 && status < 500 && !transient.has(status)) return { kind: 'rejected' };
  // 5xx, what says "not now", and redirects, which are never followed.
  return { kind: 'retry' };
}

/** Retry-After in seconds or as an HTTP date (RFC 9110, 10.2.3), capped; undefined when it says nothing. */
export function retryAfterMs(header: string | undefined, nowMs: number): number | undefined {
  const text = header?.trim() ?? '';
  if (/^\d+$/.test(text)) return Math.min(Number(text) * 1_000, longestWaitMs);
  // Date.parse takes much that is no HTTP date, such as "-5"; all three forms of one begin with a day's name.
  if (!/^(Mon|Tue|Wed|Thu|Fri|Sat|Sun)/i.test(text)) return undefined;
  const at = Date.parse(text);
  return Number.isNaN(at) ? undefined : Math.min(Math.max(0, at - nowMs), longestWaitMs);
}
