import type { PostResult } from './answers.ts';
import type { Credential } from './credential.ts';
import type { Sender } from './sender.ts';

type ClientCredentials = Extract<Credential, { type: 'client_credentials' }>;

/** A token, or why there is none. */
export type TokenResult = { readonly token: string } | { readonly failure: PostResult };

const longestAnswer = 32_768;
/** A token is replaced this long before it ends, so that none ends on its way. */
const earlyMs = 30_000;
const standardLifetimeS = 300;
const mostKept = 10_000;

/**
 * Tokens of OAuth2 client credentials (RFC 6749, 4.4), fetched through the same guard as deliveries and kept in memory
 * until shortly before they end. Requests for one credential that come together share one fetch.
 */
export class TokenStore {
  readonly #sender: Sender;
  readonly #now: () => number;
  readonly #timeoutMs: number;
  readonly #kept = new Map<string, { result: Promise<TokenResult>; until: number }>();

  constructor(sender: Sender, timeoutMs: number, now: () => number) {
    this.#sender = sender;
    this.#timeoutMs = timeoutMs;
    this.#now = now;
  }

  /** @param fresh Whether the token in hand was refused and must not be used again. */
  async token(id: string, credential: ClientCredentials, fresh: boolean): Promise<TokenResult> {
    const known = this.#kept.get(id);
    if (!fresh && known !== undefined && known.until > this.#now()) return known.result;
    if (this.#kept.size >= mostKept) this.#kept.clear();
    const entry = {
      result: Promise.resolve<TokenResult>({ token: '' }),
      until: this.#now() + this.#timeoutMs,
    };
    entry.result = this.#fetch(credential).then(({ result, lifetimeMs }) => {
      entry.until = this.#now() + lifetimeMs;
      if ('failure' in result) this.#kept.delete(id);
      return result;
    });
    this.#kept.set(id, entry);
    return entry.result;
  }

  async #fetch(credential: ClientCredentials): Promise<{ result: TokenResult; lifetimeMs: number }> {
    const { tokenUrl, clientId, clientSecret, scope } = credential;
    const form = new URLSearchParams({
      grant_type: 'client_credentials',
      ...(scope === undefined ? {} : { scope }),
    });
    const basic = Buffer.from(`${encodeURIComponent(clientId)}:${encodeURIComponent(clientSecret)}`).toString(
      'base64',
    );
    const answer = await this.#sender.post({
      url: new URL(tokenUrl),
      headers: {
        Authorization: `Basic ${basic}`,
        'Content-Type': 'application/x-www-form-urlencoded',
        Accept: 'application/json',
      },
      body: Buffer.from(form.toString()),
      timeoutMs: this.#timeoutMs,
      keepBytes: longestAnswer,
    });
    if (answer.kind === 'failure') return failed(answer);
    if (answer.status === 400 || answer.status === 401 || answer.status === 403) {
      return failed({
        kind: 'failure',
        reason: 'token-denied',
        detail: `the token server answered ${answer.status}`,
      });
    }
    const parsed = answer.status === 200 ? parseToken(answer.excerpt) : undefined;
    if (parsed === undefined) {
      return failed({
        kind: 'failure',
        reason: 'token',
        detail: `the token server answered ${answer.status}`,
      });
    }
    return {
      result: { token: parsed.token },
      lifetimeMs: Math.max(0, parsed.lifetimeS * 1_000 - earlyMs),
    };
  }
}

function failed(failure: PostResult): { result: TokenResult; lifetimeMs: number } {
  return { result: { failure }, lifetimeMs: 0 };
}

function parseToken(text: string): { token: string; lifetimeS: number } | undefined {
  try {
    const { access_token: token, expires_in: lifetime } = JSON.parse(text) as Record<string, unknown>;
    if (typeof token !== 'string' || !/^[\x21-\x7e]+$/.test(token)) return undefined;
    const lifetimeS = Number(lifetime);
    return { token, lifetimeS: Number.isFinite(lifetimeS) && lifetimeS > 0 ? lifetimeS : standardLifetimeS };
  } catch {
    return undefined;
  }
}
