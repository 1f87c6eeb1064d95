import { createServer, type IncomingMessage, type Server } from 'node:http';
import { createServer as createSecureServer, type ServerOptions } from 'node:https';
import type { AddressInfo } from 'node:net';
import { isObject, type Json, writeExactJson } from '../http/exact-json.ts';
import { makeStore } from './breakable-data.ts';
import { LogView } from './breakable-log.ts';
import { Push } from './breakable-push.ts';
import { type Asked, answerSafely, clientSecret, type Reply, type Site, token } from './breakable-replies.ts';
import { Writes } from './breakable-writes.ts';
import type { IsOn, Switch } from './switches.ts';

/** How to start the server. */
export type BreakableOptions = {
  /** The faults to have. Default: none. */
  broken?: readonly Switch[];
  /** How many events the log begins with. Default 70, on pages of at most 20. */
  events?: number;
  /** Whether a token is asked for. Default true. */
  auth?: boolean;
  /** Key and certificate, to be served by HTTPS. */
  tls?: ServerOptions;
};

/** A running server. */
export type BreakableServer = {
  url: string;
  token: string;
  client: { clientId: string; clientSecret: string; tokenUrl: string };
  /** Subscriptions and credentials that have not been removed. */
  held(): { subscriptions: number; credentials: number };
  close(): Promise<void>;
};

/**
 * Starts a small EntityEvent server on the loopback that keeps every rule of the suite, except those that a switch
 * breaks. In memory, for tests of the suite only.
 */
export async function startBreakableServer(options: BreakableOptions = {}): Promise<BreakableServer> {
  const broken = new Set<Switch>(options.broken ?? []);
  const on: IsOn = name => broken.has(name);
  const store = makeStore(on, options.events ?? 70);
  const push = new Push(store, on);
  let port = 0;
  const base = () => `${options.tls === undefined ? 'http' : 'https'}://127.0.0.1:${port}/odata`;
  const view = new LogView(store, on, base);
  const writes = new Writes(store, on, () => push.wake());
  const site: Site = { store, view, writes, push, on, auth: options.auth ?? true, base };
  const listener = async (request: IncomingMessage, response: import('node:http').ServerResponse) => {
    const asked = await readRequest(request);
    const reply = answerSafely(site, asked);
    const { headers, text } = write(site, asked, reply);
    response.writeHead(reply.status, headers).end(text);
  };
  const server: Server =
    options.tls === undefined ? createServer(listener) : createSecureServer(options.tls, listener);
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  port = (server.address() as AddressInfo).port;
  return {
    url: base(),
    token,
    client: { clientId: 'client', clientSecret, tokenUrl: base().replace('/odata', '/token') },
    held: () => push.held(),
    close: () => {
      push.close();
      writes.close();
      return new Promise(resolve => {
        server.close(() => resolve());
        server.closeAllConnections();
      });
    },
  };
}

async function readRequest(request: IncomingMessage): Promise<Asked> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const [path = '', search = ''] = (request.url ?? '').split('?');
  return {
    method: request.method ?? 'GET',
    path,
    search,
    headers: request.headers,
    body: Buffer.concat(chunks).toString('utf8'),
  };
}

function write(site: Site, asked: Asked, reply: Reply): { headers: Record<string, string>; text: string } {
  const { on } = site;
  const headers: Record<string, string> = { ...reply.headers };
  const asks40 = asked.headers['odata-maxversion'] === '4.0' && !on('answers-in-other-version');
  if (reply.bare !== true) headers['OData-Version'] = asks40 ? '4.0' : '4.01';
  if (reply.body === undefined) return { headers, text: '' };
  const compatible = /ieee754compatible=true/i.test(String(asked.headers.accept)) && !on('ieee754-ignored');
  if (typeof reply.body === 'string') return { headers, text: reply.body };
  if (reply.status >= 400 && on('error-as-text'))
    return { headers: { ...headers, 'Content-Type': 'text/plain' }, text: 'no' };
  let text = writeExactJson(numbers(reply.body, compatible, on));
  if (reply.status >= 400 && on('error-with-stack'))
    text = text.replace('}}', ',"innererror":{"stack":"at run (/srv/app.js:10:2)"}}}');
  headers['Content-Type'] ??= contentType(on, compatible);
  return { headers, text };
}

function contentType(on: IsOn, compatible: boolean): string {
  const kind = on('data-as-text') ? 'text/json' : 'application/json';
  const level = on('content-type-bare') ? '' : ';odata.metadata=minimal';
  return `${kind}${level}${compatible ? ';IEEE754Compatible=true' : ''}`;
}

/** The numbers of a body as this request wants them, and as a switch spoils them. */
function numbers(value: Json, compatible: boolean, on: IsOn): Json {
  if (typeof value === 'bigint') {
    const written = on('int64-rounded') ? BigInt(Number(value)) : value;
    return compatible || on('sequence-as-string') ? written.toString() : written;
  }
  if (Array.isArray(value)) return value.map(each => numbers(each, compatible, on));
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, each]) => [name, numbers(each, compatible, on)]),
  );
}
