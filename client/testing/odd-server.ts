import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { stringifyExact } from '../exact-json.ts';
import { type OddAnswer, type OddWorld, oddAnswer, oddError, quoteNumbers } from './odd-answers.ts';
import type { OddSource } from './odd-source.ts';
import { type OddSwitches, WELL_BEHAVED } from './odd-switches.ts';
import type { SeededRandom } from './seeded-random.ts';

/** A running odd server. */
export interface OddServer {
  readonly url: string;
  /** May be changed at any time. */
  readonly switches: OddSwitches;
  /** Requests so far, by what they asked for: `page`, `batch`, `single`, `other`. */
  readonly requests: Record<'page' | 'batch' | 'single' | 'other', number>;
  /** Requests for records in flight, and the most there were. */
  readonly flight: { now: number; most: number };
  /** Called before each answer is made; the place for live edits and kills. */
  onRequest: (url: string) => void;
  /** Awaited when an answer has been made and before it is sent; the place to hold one back. The URL is decoded. */
  beforeSending: (url: string) => Promise<void>;
  close(): Promise<void>;
}

/**
 * Starts a server over `source` on 127.0.0.1 that misbehaves as its switches say. Faults are rolled from `random`, and are not
 * put on `$metadata`, which every run needs once.
 */
export async function startOddServer(
  source: OddSource,
  random: SeededRandom,
  switches: Partial<OddSwitches> = {},
): Promise<OddServer> {
  const state: OddWorld['state'] = { lastPage: undefined, pagesServed: 0 };
  const http = createServer((request, response) => {
    handle(request, response).catch(error =>
      response.writeHead(400).end(`The odd server itself failed: ${error}`),
    );
  });
  await new Promise<void>(resolve => http.listen(0, '127.0.0.1', resolve));
  const root = `http://127.0.0.1:${(http.address() as AddressInfo).port}/odata`;
  const server: OddServer = {
    url: root,
    switches: { ...WELL_BEHAVED, ...switches },
    requests: { page: 0, batch: 0, single: 0, other: 0 },
    flight: { now: 0, most: 0 },
    onRequest: () => {},
    beforeSending: async () => {},
    close: () =>
      new Promise(resolve => {
        http.closeAllConnections();
        http.close(() => resolve());
      }),
  };

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = request.url ?? '/';
    server.onRequest(url);
    const kind = kindOf(url);
    server.requests[kind]++;
    const record = kind === 'batch' || kind === 'single';
    if (record) server.flight.most = Math.max(server.flight.most, ++server.flight.now);
    // The answer is made before the delay: it is old by the time it arrives.
    const answer = decide(request, url);
    if (server.switches.lateMs > 0) await pause(random() * server.switches.lateMs);
    if (answer.hold) await pause(5);
    await server.beforeSending(decodeURIComponent(url));
    if (record) server.flight.now--;
    deliver(request, response, kind, answer);
  }

  function decide(request: IncomingMessage, url: string): OddAnswer {
    const { switches: now } = server;
    if (now.token !== undefined && request.headers.authorization !== now.token)
      return oddError(now.tokenStatus, 'Token refused');
    if (url.length > now.maxUrl) return oddError(414, 'URI Too Long');
    const [path = '', query = ''] = url.slice('/odata/'.length).split(/\?(.*)/s);
    const prefer = String(request.headers.prefer ?? '');
    return oddAnswer(
      { source, switches: now, random, root, state },
      path,
      new URLSearchParams(query),
      prefer,
    );
  }

  function deliver(
    request: IncomingMessage,
    response: ServerResponse,
    kind: string,
    answer: OddAnswer,
  ): void {
    const { switches: now } = server;
    const roll = (chance: number) => kind !== 'other' && random() < chance;
    if (roll(now.throttle)) throttle(response, now.retryAfter);
    else if (roll(now.fail)) end(response, oddError(500, 'Something broke'));
    else if (roll(now.html))
      end(response, { status: 200, body: '<html><body>Please stand by</body></html>' });
    else if (roll(now.reset)) request.socket.destroy();
    else deliverBody(response, kind, answer);
  }

  function deliverBody(response: ServerResponse, kind: string, answer: OddAnswer): void {
    const { switches: now } = server;
    const roll = (chance: number) => kind !== 'other' && random() < chance;
    const text = textOf(answer, now.quotedNumbers);
    const headers = { 'content-type': 'application/json', 'odata-version': '4.0', ...answer.headers };
    if (roll(now.truncate)) {
      response.writeHead(answer.status, headers).end(text.slice(0, Math.floor(text.length * random())));
    } else if (roll(now.drip)) void drip(response, answer.status, headers, text);
    else if (now.compress) compress(response, answer.status, headers, text, random() < 0.5 ? 'br' : 'gzip');
    else response.writeHead(answer.status, headers).end(text);
  }

  return server;
}

function kindOf(url: string): keyof OddServer['requests'] {
  if (/\/EntityEvent/.test(url)) return 'page';
  if (/\(/.test(url.split('?')[0] ?? '')) return 'single';
  return /filter=/.test(url) ? 'batch' : 'other';
}

function textOf({ body }: OddAnswer, quoted: boolean): string {
  if (typeof body === 'string') return body;
  return stringifyExact(quoted ? quoteNumbers(body) : body);
}

function end(response: ServerResponse, answer: OddAnswer): void {
  response
    .writeHead(answer.status, { 'content-type': 'text/html', ...answer.headers })
    .end(textOf(answer, false));
}

function throttle(response: ServerResponse, form: OddSwitches['retryAfter']): void {
  const retryAfter = form === 'seconds' ? '2' : new Date(Date.now() + 3000).toUTCString();
  response.writeHead(429, form === 'none' ? {} : { 'retry-after': retryAfter }).end('Too many requests');
}

async function drip(
  response: ServerResponse,
  status: number,
  headers: Record<string, string>,
  text: string,
): Promise<void> {
  response.writeHead(status, headers);
  const bytes = Buffer.from(text);
  const step = Math.max(1, Math.ceil(bytes.length / 8));
  for (let at = 0; at < bytes.length && !response.destroyed; at += step) {
    response.write(bytes.subarray(at, at + step));
    await pause(3);
  }
  response.end();
}

function compress(
  response: ServerResponse,
  status: number,
  headers: Record<string, string>,
  text: string,
  by: 'br' | 'gzip',
): void {
  const bytes = by === 'br' ? brotliCompressSync(text) : gzipSync(text);
  response.writeHead(status, { ...headers, 'content-encoding': by }).end(bytes);
}

function pause(ms: number): Promise<void> {
  return new Promise(resolve => setTimeout(resolve, ms));
}
