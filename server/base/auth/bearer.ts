import { createHash, timingSafeEqual } from 'node:crypto';
import { PulsefeedError } from '../errors.ts';

/** The token of an Authorization header, or undefined when there is none of that scheme. */
export function bearerToken(header: string | undefined): string | undefined {
  return /^Bearer +([A-Za-z0-9._~+/-]+=*) *$/i.exec(header ?? '')?.[1];
}

/** Compares two secrets in a time that tells nothing about where they differ. */
export function sameSecret(given: string, expected: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(given), digest(expected));
}

/**
 * Lets a request through that bears the operator's token.
 * @throws EE-200 when it does not, or when no token is configured.
 */
export function requireToken(
  header: string | undefined,
  expected: string | undefined,
  setting: string,
): void {
  const given = bearerToken(header);
  if (expected !== undefined && given !== undefined && sameSecret(given, expected)) return;
  const message =
    expected === undefined
      ? `This route is closed: the operator has not set ${setting}.`
      : 'This route needs Authorization: Bearer with its token.';
  const challenge =
    given === undefined ? 'Bearer realm="pulsefeed"' : 'Bearer realm="pulsefeed", error="invalid_token"';
  throw new PulsefeedError('EE-200', message, { headers: { 'WWW-Authenticate': challenge } });
}
