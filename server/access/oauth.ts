import OAuth2Server from '@node-oauth/oauth2-server';
import express, { type Request, Router } from 'express';
import { sameSecret } from '../base/auth/bearer.ts';
import type { Db } from '../base/db/index.ts';
import { PulsefeedError } from '../base/errors.ts';
import { factsOf } from '../base/http/app.ts';
import { addToken, consumerByClient } from '../visibility/index.ts';
import { hashOf, newCredential } from './credentials.ts';

/** What the token endpoint works with. */
export interface OAuthOptions {
  readonly db: Db;
  readonly tokenLifetimeS: number;
  readonly now: () => number;
}

/** Failed attempts that one address or client may make in the window before it has to wait. */
const mostFailures = 10;
const failureWindowMs = 60_000;

/** `POST /oauth/token`: client credentials (RFC 6749, 4.4), by Basic authentication or in the body. */
export function oauthRouter(options: OAuthOptions): Router {
  const server = new OAuth2Server({
    model: clientCredentials(options),
    accessTokenLifetime: options.tokenLifetimeS,
  });
  const failures = new FailureCounter(options.now);
  const router = Router();
  router.post(
    '/oauth/token',
    express.urlencoded({ extended: false, limit: '8kb' }),
    async (request, response) => {
      factsOf(response).route = 'oauth';
      const suspects = [`address ${request.ip}`, `client ${clientIdOf(request)}`];
      failures.refuse(suspects);
      const answer = new OAuth2Server.Response({ headers: {} });
      try {
        const token = await server.token(new OAuth2Server.Request(plain(request)), answer);
        response.setHeader('Cache-Control', 'no-store');
        response.json({
          access_token: token.accessToken,
          token_type: 'Bearer',
          expires_in: options.tokenLifetimeS,
          scope: Array.isArray(token.scope) ? token.scope.join(' ') : undefined,
        });
      } catch (error) {
        if (!(error instanceof OAuth2Server.OAuthError)) throw error;
        failures.note(suspects);
        response.setHeader('Cache-Control', 'no-store');
        if (error.code === 401) response.setHeader('WWW-Authenticate', 'Basic realm="pulsefeed"');
        // The shape of RFC 6749, 5.2, which OAuth clients read.
        response.status(error.code).json({ error: error.name, error_description: error.message });
      }
    },
  );
  return router;
}

function clientCredentials({ db, tokenLifetimeS }: OAuthOptions): OAuth2Server.ClientCredentialsModel {
  return {
    async getClient(clientId, clientSecret) {
      const found = await consumerByClient(db, clientId);
      // Compared also when there is no such client, so that both take the same time.
      const matches = sameSecret(hashOf(clientSecret), found?.secretHash ?? hashOf(''));
      if (found === undefined || !matches) return false;
      return { id: clientId, grants: ['client_credentials'], consumerId: found.id, scopes: found.scopes };
    },
    async getUserFromClient(client) {
      return { consumerId: client.consumerId };
    },
    async validateScope(_user, client, scope) {
      const allowed = client.scopes as string[];
      if (scope === undefined) return allowed;
      return scope.every(name => allowed.includes(name)) ? scope : false;
    },
    async generateAccessToken() {
      return newCredential('token').text;
    },
    async saveToken(token, client, user) {
      const { accessToken } = token;
      await addToken(db, user.consumerId as number, {
        hash: hashOf(accessToken),
        prefix: accessToken.slice(0, 8),
        lifetimeS: tokenLifetimeS,
      });
      return { ...token, client, user };
    },
    async getAccessToken() {
      // Tokens are checked where requests are authenticated, not here.
      return false;
    },
  };
}

function plain(request: Request) {
  return {
    headers: Object.fromEntries(
      Object.entries(request.headers).map(([name, value]) => [
        name,
        Array.isArray(value) ? value.join(', ') : (value ?? ''),
      ]),
    ),
    method: request.method,
    query: {},
    body: request.body as unknown,
  };
}

function clientIdOf(request: Request): string {
  const body = request.body as { client_id?: unknown } | undefined;
  const basic = /^Basic +([A-Za-z0-9+/=]+)$/i.exec(request.headers.authorization ?? '')?.[1];
  if (basic !== undefined) return Buffer.from(basic, 'base64').toString('utf8').split(':')[0] ?? '';
  return typeof body?.client_id === 'string' ? body.client_id : '';
}

/** Counts failed attempts in a fixed window. Bounded: when it is full, the oldest suspect is forgotten. */
class FailureCounter {
  readonly #now: () => number;
  readonly #seen = new Map<string, { count: number; until: number }>();

  constructor(now: () => number) {
    this.#now = now;
  }

  /** @throws EE-202 for whoever failed too often. */
  refuse(suspects: readonly string[]): void {
    for (const suspect of suspects) {
      const seen = this.#seen.get(suspect);
      if (seen === undefined || seen.count < mostFailures || seen.until <= this.#now()) continue;
      const waitS = Math.ceil((seen.until - this.#now()) / 1_000);
      throw new PulsefeedError('EE-202', 'Too many failed attempts; wait.', {
        headers: { 'Retry-After': String(waitS) },
      });
    }
  }

  note(suspects: readonly string[]): void {
    for (const suspect of suspects) {
      const seen = this.#seen.get(suspect);
      const fresh = seen === undefined || seen.until <= this.#now();
      this.#seen.delete(suspect);
      this.#seen.set(
        suspect,
        fresh ? { count: 1, until: this.#now() + failureWindowMs } : { ...seen, count: seen.count + 1 },
      );
      const oldest = this.#seen.keys().next().value;
      if (this.#seen.size > 10_000 && oldest !== undefined) this.#seen.delete(oldest);
    }
  }
}
