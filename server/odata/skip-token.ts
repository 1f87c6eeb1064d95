import { createHmac, timingSafeEqual } from 'node:crypto';
import { PulsefeedError } from '../base/errors.ts';

/**
 * Where a page walk stands. Opaque to clients, signed, so that a valid token proves that this service handed the
 * position out.
 */
export interface SkipToken {
  /** Entity set and options that the walk was begun with, as a digest: a token works for its own query only. */
  readonly query: string;
  /** Values of the order of the last row served. */
  readonly after: readonly (string | null)[];
  /** Rows that `$top` still allows; absent without `$top`. */
  readonly remaining?: number;
  /** For a log: the epoch, and the head when the walk began. */
  readonly epoch?: number;
  readonly head?: string;
}

const macBytes = 16;

/** Writes tokens and reads them back under one key. */
export interface TokenCodec {
  seal(token: SkipToken): string;
  /** @throws EE-104 when the text is no token of this service or was made for another query. */
  open(text: string, query: string): SkipToken;
  /** The digest that binds a token to its query. */
  digest(parts: readonly string[]): string;
}

/** @param key Secret that all processes of one service share. */
export function tokenCodec(key: string): TokenCodec {
  const mac = (payload: Buffer) => createHmac('sha256', key).update(payload).digest().subarray(0, macBytes);
  return {
    seal(token) {
      const payload = Buffer.from(
        JSON.stringify([
          token.query,
          token.after,
          token.remaining ?? null,
          token.epoch ?? null,
          token.head ?? null,
        ]),
      );
      return Buffer.concat([mac(payload), payload]).toString('base64url');
    },
    open(text, query) {
      const bytes = /^[A-Za-z0-9_-]{24,16384}$/.test(text) ? Buffer.from(text, 'base64url') : Buffer.alloc(0);
      const payload = bytes.subarray(macBytes);
      if (bytes.length <= macBytes || !timingSafeEqual(bytes.subarray(0, macBytes), mac(payload)))
        throw invalid();
      const [madeFor, after, remaining, epoch, head] = JSON.parse(payload.toString('utf8')) as [
        string,
        (string | null)[],
        number | null,
        number | null,
        string | null,
      ];
      if (madeFor !== query) throw invalid();
      return {
        query,
        after,
        ...(remaining === null ? {} : { remaining }),
        ...(epoch === null ? {} : { epoch }),
        ...(head === null ? {} : { head }),
      };
    },
    digest: parts => createHmac('sha256', key).update(JSON.stringify(parts)).digest('base64url').slice(0, 16),
  };
}

function invalid(): PulsefeedError {
  return new PulsefeedError('EE-104', 'The $skiptoken is not one that this service gave for this query.', {
    target: '$skiptoken',
  });
}
