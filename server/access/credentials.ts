import { createHash, randomBytes } from 'node:crypto';

/** A token or secret: 256 random bits behind a prefix by which leaked ones are recognised. */
export interface Credential {
  readonly text: string;
  /** sha-256, hex. A generated secret has all its entropy: a slow hash would add nothing but load. */
  readonly hash: string;
  /** The beginning, by which a person tells tokens apart. */
  readonly prefix: string;
}

/** Makes a bearer token or client secret. */
export function newCredential(kind: 'token' | 'secret'): Credential {
  const text = `${kind === 'token' ? 'pft' : 'pfs'}_${randomBytes(32).toString('base64url')}`;
  return { text, hash: hashOf(text), prefix: text.slice(0, 8) };
}

/** Makes a client id; it is no secret. */
export function newClientId(): string {
  return `pfc_${randomBytes(9).toString('base64url')}`;
}

/** What is kept of a token or secret. */
export function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
