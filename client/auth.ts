/** How requests are signed: not at all, with a fixed bearer token, or with OAuth2 client credentials (RFC 6749 4.4). */
export type Auth =
  | { readonly kind: 'none' }
  | { readonly kind: 'bearer'; readonly token: string }
  | {
      readonly kind: 'client-credentials';
      readonly tokenUrl: string;
      readonly clientId: string;
      readonly clientSecret: string;
      readonly scope?: string;
    };

/** An access token and how long it lives. */
export interface Token {
  readonly value: string;
  readonly lifeMs: number | undefined;
}

/** Gives the Authorization header for the next request and renews the token behind it. */
export interface Authorizer {
  /** The header, or `undefined` without auth. Concurrent callers share one renewal. */
  header(): Promise<string | undefined>;
  /** Told that `header` was refused; true when a new header is worth one more try. */
  refused(header: string | undefined): boolean;
}

/**
 * Makes the Authorizer. A token from client credentials is renewed when nine tenths of its life are over, and after a
 * refusal; a token without `expires_in` is kept until it is refused.
 */
export function authorizer(
  auth: Auth,
  fetchToken: (auth: ClientCredentials) => Promise<Token>,
  now: () => number,
): Authorizer {
  if (auth.kind === 'none') return { header: async () => undefined, refused: () => false };
  if (auth.kind === 'bearer') {
    const header = `Bearer ${auth.token}`;
    return { header: async () => header, refused: () => false };
  }
  let current: { header: string; renewAt: number } | undefined;
  let pending: Promise<string> | undefined;
  const renew = async (): Promise<string> => {
    const asked = now();
    const token = await fetchToken(auth);
    const header = `Bearer ${token.value}`;
    const renewAt = token.lifeMs === undefined ? Number.POSITIVE_INFINITY : asked + token.lifeMs * 0.9;
    current = { header, renewAt };
    return header;
  };
  return {
    header: async () => {
      if (current && now() < current.renewAt) return current.header;
      pending ??= renew().finally(() => {
        pending = undefined;
      });
      return pending;
    },
    refused: header => {
      // Only the token that was refused is thrown away: another request may have renewed it meanwhile.
      if (current?.header === header) current = undefined;
      return true;
    },
  };
}

/** The client-credentials variant of Auth. */
export type ClientCredentials = Extract<Auth, { kind: 'client-credentials' }>;

/** The body of the token request. */
export function tokenRequestBody(auth: ClientCredentials): string {
  const form = new URLSearchParams({
    grant_type: 'client_credentials',
    client_id: auth.clientId,
    client_secret: auth.clientSecret,
  });
  if (auth.scope !== undefined) form.set('scope', auth.scope);
  return form.toString();
}
