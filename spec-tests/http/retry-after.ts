/**
 * Reads a `Retry-After` header: seconds or an HTTP date (RFC 9110 section 10.2.3).
 * Returns the milliseconds to wait from `nowMs`, never negative, or undefined when the header says neither.
 */
export function retryAfterMs(header: string | undefined, nowMs: number): number | undefined {
  if (header === undefined) return undefined;
  const text = header.trim();
  if (/^[0-9]+$/.test(text)) return Number(text) * 1000;
  const date = Date.parse(text);
  return Number.isNaN(date) ? undefined : Math.max(0, date - nowMs);
}
