import { createCipheriv, createDecipheriv, createHash, hkdfSync, randomBytes } from 'node:crypto';
import { PulsefeedError } from '../base/errors.ts';

/** Seals secrets for the database and opens them again. */
export interface Seal {
  /** AES-256-GCM under the first key; `owner` (the row's id) is bound to it, so that no row can borrow another's. */
  seal(owner: string, secret: unknown): Buffer;
  /** @throws EE-501 when no key in hand opens it. */
  open<T>(owner: string, sealed: Uint8Array): T;
}

const layout = { version: 1, keyId: 4, iv: 12, tag: 16 } as const;
const formatVersion = 1;

interface Key {
  readonly id: Buffer;
  readonly bytes: Buffer;
}

/**
 * @param secretKeys PULSEFEED_SECRET_KEY: one key of 32 characters or more, or several separated by commas; the first
 * seals, all open, so that a key can be replaced while the old one still reads.
 * @throws EE-700 for a key that is too short.
 */
export function createSeal(secretKeys: string): Seal {
  const keys = secretKeys
    .split(',')
    .map(text => text.trim())
    .filter(text => text !== '')
    .map(deriveKey);
  const [first] = keys;
  if (first === undefined) throw new PulsefeedError('EE-700', 'PULSEFEED_SECRET_KEY is empty.');
  return {
    seal(owner, secret) {
      const iv = randomBytes(layout.iv);
      const cipher = createCipheriv('aes-256-gcm', first.bytes, iv);
      cipher.setAAD(Buffer.from(owner));
      const text = Buffer.concat([cipher.update(JSON.stringify(secret), 'utf8'), cipher.final()]);
      return Buffer.concat([Buffer.from([formatVersion]), first.id, iv, cipher.getAuthTag(), text]);
    },
    open<T>(owner: string, sealed: Uint8Array): T {
      const bytes = Buffer.from(sealed);
      const id = bytes.subarray(layout.version, layout.version + layout.keyId);
      const key = keys.find(candidate => candidate.id.equals(id));
      if (bytes[0] !== formatVersion || key === undefined) throw sealed501(undefined);
      let at = layout.version + layout.keyId;
      const iv = bytes.subarray(at, at + layout.iv);
      at += layout.iv;
      const tag = bytes.subarray(at, at + layout.tag);
      at += layout.tag;
      try {
        const decipher = createDecipheriv('aes-256-gcm', key.bytes, iv);
        decipher.setAAD(Buffer.from(owner));
        decipher.setAuthTag(tag);
        const text = Buffer.concat([decipher.update(bytes.subarray(at)), decipher.final()]);
        return JSON.parse(text.toString('utf8')) as T;
      } catch (error) {
        throw sealed501(error);
      }
    },
  };
}

/** Keys are generated secrets: a plain derivation suffices, and a text of any form can be one. */
function deriveKey(text: string): Key {
  if (text.length < 32) {
    throw new PulsefeedError('EE-700', 'PULSEFEED_SECRET_KEY needs at least 32 characters a key.');
  }
  const bytes = Buffer.from(hkdfSync('sha256', text, '', 'pulsefeed push secrets', 32));
  return { bytes, id: createHash('sha256').update(bytes).digest().subarray(0, layout.keyId) };
}

function sealed501(cause: unknown): PulsefeedError {
  return new PulsefeedError(
    'EE-501',
    'A secret of this subscription cannot be opened with the key in hand.',
    {
      cause,
    },
  );
}
