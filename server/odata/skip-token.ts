import { createHmac, timingSafeEqual } from 'node:crypto';
import { PulsefeedError } from '../base/errors.ts';

/**
 * Where a walk stands. Opaque to clients, signed, so that a valid token proves that this service handed the position
 * out.
 */
export interface WalkToken {
  /** `skip`: in a nextLink, goes on with the page after; `delta`: in a deltaLink, asks for what came since. */
  readonly use: 'skip' | 'delta';
  /** Entity set and options that the walk was begun with, as a digest: a token works for its own query only. */
  readonly query: string;
  /** Values of the order of the last row served; for `delta`, the number up to which the log was scanned. */
  readonly after: readonly (string | null)[];
  /** Rows that `$top` still allows; absent without `$top`. */
  readonly remaining?: number;
  /** For a log: the epoch, and the head when the walk began. */
  readonly epoch?: number;
  readonly head?: string;
  /** The walk ends in a deltaLink (`all`), or it is itself a read of changes since this number. */
  readonly tracking?: 'all' | { readonly since: string };
  /** The options of the walk, packed, when they are too long for a URL. */
  readonly packed?: string;
}

const macBytes = 16;

/** Longest token that is looked at, in characters. */
const maxTokenLength = 131_072;

/** Writes tokens and reads them back under one key. */
export interface TokenCodec {
  seal(token: WalkToken): string;
  /** @throws EE-104 when the text is no token of this service for this use. */
  open(text: string, use: WalkToken['use']): WalkToken;
  /** The digest that binds a token to its query. */
  digest(parts: readonly string[]): string;
}

/** @param key Secret that all processes of one service share. */
export function tokenCodec(key: string): TokenCodec {
  const mac = (payload: Buffer) => createHmac('sha256', key).update(payload).digest().subarray(0, macBytes);
  return {
    seal(token) {
      const payload = Buffer.from(JSON.stringify(token));
      return Buffer.concat([mac(payload), payload]).toString('base64url');
    },
    open(text, use) {
      const plausible = text.length <= maxTokenLength && /^[A-Za-z0-9_-]{24,}$/.test(text);
      const bytes = plausible ? Buffer.from(text, 'base64url') : Buffer.alloc(0);
      const payload = bytes.subarray(macBytes);
      // The text is compared too: the last character of base64 has bits that decoding ignores.
      const genuine =
        bytes.length > macBytes &&
        bytes.toString('base64url') === text &&
        timingSafeEqual(bytes.subarray(0, macBytes), mac(payload));
      if (!genuine) throw invalidToken(use);
      const token = JSON.parse(payload.toString('utf8')) as WalkToken;
      if (token.use !== use) throw invalidToken(use);
      return token;
    },
    digest: parts => createHmac('sha256', key).update(JSON.stringify(parts)).digest('base64url').slice(0, 16),
  };
}

/** The answer to a token that was forged, altered or made for another query. */
export function invalidToken(use: WalkToken['use']): PulsefeedError {
  return new PulsefeedError('EE-104', `The $${use}token is not one that this service gave for this query.`, {
    target: `$${use}token`,
  });
}
