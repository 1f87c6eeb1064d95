import supertest from 'supertest';
import type { Settings } from '../settings.ts';
import type { Clock } from './clock.ts';
import { isObject } from './exact-json.ts';
import { type Exchange, jsonOf } from './exchange.ts';

/** Where the headers with the credentials come from. */
export type Credentials = {
  headers(): Promise<Record<string, string>>;
  /** The last answer of the token endpoint, when there is one. */
  tokenExchange(): Promise<Exchange | undefined>;
  /** Everything that must not appear in a report. */
  secrets(): string[];
};

/** Thrown when no token is to be had. The message says why, without secrets. */
export class NoToken extends Error {}

const renewBeforeMs = 30_000;

/** Credentials as the settings name them; client credentials are fetched at first use and renewed before they expire. */
export function credentialsOf(settings: Settings, clock: Clock): Credentials {
  const { token, client } = settings;
  if (client !== undefined) return clientCredentials(client, settings.timeoutMs, clock);
  return {
    headers: async () => (token === undefined ? {} : { Authorization: `Bearer ${token}` }),
    tokenExchange: async () => undefined,
    secrets: () => (token === undefined ? [] : [token]),
  };
}

type Client = { id: string; secret: string; tokenUrl: string; scope?: string };

function clientCredentials(client: Client, timeoutMs: number, clock: Clock): Credentials {
  let held: { token: string; untilMs: number; exchange: Exchange } | undefined;
  let fetching: Promise<{ token: string; untilMs: number; exchange: Exchange }> | undefined;
  const secrets = new Set([client.secret]);
  const current = async () => {
    if (held !== undefined && clock.now() < held.untilMs) return held;
    fetching ??= fetchToken(client, timeoutMs, clock).finally(() => {
      fetching = undefined;
    });
    held = await fetching;
    secrets.add(held.token);
    return held;
  };
  return {
    headers: async () => ({ Authorization: `Bearer ${(await current()).token}` }),
    tokenExchange: async () => (await current()).exchange,
    secrets: () => [...secrets],
  };
}

async function fetchToken(client: Client, timeoutMs: number, clock: Clock) {
  const form: Record<string, string> = {
    grant_type: 'client_credentials',
    client_id: client.id,
    client_secret: client.secret,
  };
  if (client.scope !== undefined) form.scope = client.scope;
  const { origin } = new URL(client.tokenUrl);
  const startedMs = performance.now();
  let response: supertest.Response;
  try {
    response = await supertest(origin)
      .post(client.tokenUrl.slice(origin.length) || '/')
      .type('form')
      .accept('application/json')
      .redirects(0)
      .trustLocalhost(true)
      .ok(() => true)
      .timeout({ response: timeoutMs, deadline: timeoutMs })
      .send(form);
  } catch (error) {
    throw new NoToken(`the token endpoint did not answer: ${(error as Error).message}`);
  }
  const exchange: Exchange = {
    method: 'POST',
    url: client.tokenUrl,
    requestHeaders: { 'Content-Type': 'application/x-www-form-urlencoded' },
    requestBody: new URLSearchParams(form).toString(),
    status: response.status,
    headers: { 'content-type': String(response.headers['content-type'] ?? '') },
    text: response.text ?? '',
    durationMs: performance.now() - startedMs,
  };
  const body = jsonOf(exchange);
  const token = isObject(body) ? body.access_token : undefined;
  if (exchange.status !== 200 || typeof token !== 'string') {
    throw new NoToken(`the token endpoint gave no access_token (HTTP ${exchange.status})`);
  }
  const expires = isObject(body) && typeof body.expires_in === 'bigint' ? Number(body.expires_in) : 3600;
  return { token, untilMs: clock.now() + Math.max(1000, expires * 1000 - renewBeforeMs), exchange };
}
