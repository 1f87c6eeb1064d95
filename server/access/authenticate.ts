import { createRemoteJWKSet, type JWTVerifyGetKey, errors as joseErrors, jwtVerify } from 'jose';
import { bearerToken, sameSecret } from '../base/auth/bearer.ts';
import { anonymous, type Scope, type Viewer } from '../base/auth/viewer.ts';
import type { Settings } from '../base/config/index.ts';
import type { Db } from '../base/db/index.ts';
import { PulsefeedError } from '../base/errors.ts';
import {
  anonymousConsumer,
  consumerByName,
  consumerByToken,
  type KnownConsumer,
} from '../visibility/index.ts';
import { hashOf } from './credentials.ts';

/** How long a token's answer may be reused: a revoked token is refused within two seconds on every process. */
const rememberMs = 1_000;
const mostRemembered = 10_000;

/**
 * Turns the headers of a request into whoever asks. @throws EE-200 for a token that is not valid, EE-206 for one whose
 * keys cannot be fetched.
 */
export type Authenticate = (authorization: string | undefined) => Promise<Viewer>;

type AccessSettings = Pick<
  Settings,
  'adminToken' | 'ingestToken' | 'jwksUrl' | 'jwtAudience' | 'jwtIssuer' | 'jwtClaim'
>;

/** Tokens of consumers, JWTs of the provider's own identity server, and the operator's two tokens. */
export function createAuthenticate(db: Db, settings: AccessSettings, now: () => number): Authenticate {
  const remembered = new Map<string, { viewer: Viewer | undefined; until: number }>();
  const keys = settings.jwksUrl === undefined ? undefined : remoteKeys(settings.jwksUrl);

  async function remember(id: string, find: () => Promise<Viewer | undefined>): Promise<Viewer | undefined> {
    const known = remembered.get(id);
    if (known !== undefined && known.until > now()) return known.viewer;
    const viewer = await find();
    if (remembered.size >= mostRemembered) remembered.clear();
    remembered.set(id, { viewer, until: now() + rememberMs });
    return viewer;
  }

  return async authorization => {
    const token = bearerToken(authorization);
    if (token === undefined) {
      if (authorization !== undefined && authorization !== '') throw invalidToken();
      const shown = await remember('', async () => viewerOf(await consumerByName(db, anonymousConsumer)));
      return shown ?? anonymous;
    }
    const operator = operatorViewer(token, settings);
    if (operator !== undefined) return operator;
    const viewer =
      keys !== undefined && token.split('.').length === 3
        ? await jwtViewer(db, token, keys, settings)
        : await remember(hashOf(token), async () => viewerOf(await consumerByToken(db, hashOf(token))));
    if (viewer === undefined) throw invalidToken();
    return viewer;
  };
}

const jwksRetryS = 10;

/**
 * The keys of the identity server, fetched when they are needed, at most once at a time, and kept for ten minutes. That
 * they cannot be had says nothing about the token, so it is not called invalid: its owner would throw it away.
 */
function remoteKeys(url: string): JWTVerifyGetKey {
  const keys = createRemoteJWKSet(new URL(url));
  return async (header, token) => {
    try {
      return await keys(header, token);
    } catch (error) {
      if (saysOfToken.some(kind => error instanceof kind)) throw error;
      throw new PulsefeedError('EE-206', 'The keys that tokens are checked against cannot be fetched.', {
        headers: { 'Retry-After': String(jwksRetryS) },
        cause: error,
      });
    }
  };
}

/** What looking for a key may find wrong with the token itself. */
const saysOfToken = [
  joseErrors.JWKSNoMatchingKey,
  joseErrors.JWKSMultipleMatchingKeys,
  joseErrors.JOSENotSupported,
] as const;

/** The operator's tokens open their routes; they read no feed, since they belong to no consumer. */
function operatorViewer(token: string, settings: AccessSettings): Viewer | undefined {
  const scopes: Scope[] = [];
  if (settings.adminToken !== undefined && sameSecret(token, settings.adminToken))
    scopes.push('admin', 'write');
  if (settings.ingestToken !== undefined && sameSecret(token, settings.ingestToken)) scopes.push('ingest');
  return scopes.length === 0 ? undefined : { ...anonymous, scopes: new Set<Scope>(['read', ...scopes]) };
}

async function jwtViewer(
  db: Db,
  token: string,
  keys: JWTVerifyGetKey,
  settings: AccessSettings,
): Promise<Viewer | undefined> {
  try {
    const { payload } = await jwtVerify(token, keys, {
      ...(settings.jwtAudience === undefined ? {} : { audience: settings.jwtAudience }),
      ...(settings.jwtIssuer === undefined ? {} : { issuer: settings.jwtIssuer }),
    });
    const name = payload[settings.jwtClaim];
    return typeof name === 'string' ? viewerOf(await consumerByName(db, name)) : undefined;
  } catch (error) {
    if (error instanceof joseErrors.JOSEError) return undefined;
    throw error;
  }
}

function viewerOf(consumer: KnownConsumer | undefined): Viewer | undefined {
  return consumer === undefined
    ? undefined
    : { consumerId: consumer.id, consumer: consumer.name, scopes: new Set(consumer.scopes) };
}

function invalidToken(): PulsefeedError {
  return new PulsefeedError('EE-200', 'The token is not valid: unknown, expired or revoked.', {
    headers: { 'WWW-Authenticate': 'Bearer realm="pulsefeed", error="invalid_token"' },
  });
}
