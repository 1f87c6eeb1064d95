import { Agent, type IncomingMessage, request as sendRequest } from 'node:http';
import { connect } from 'node:net';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { openServedFeed } from '../server/odata/cases/served-feed.ts';
import { cleanUp } from '../testing/cleanup.ts';
import { seededRandom } from '../testing/seeded-random.ts';
import { type FuzzAnswer, faultOf } from './fuzz-answer.ts';
import { type FuzzRequest, nextRequest } from './fuzz-request.ts';

/** How long, or how many requests, whichever ends first. */
export interface FuzzOptions {
  readonly seconds: number;
  readonly requests: number;
  readonly seed?: number;
}

/** What happened; `faults` is empty when nothing did that must not. */
export interface FuzzResult {
  readonly seed: string;
  readonly requests: number;
  readonly seconds: number;
  readonly statuses: Readonly<Record<string, number>>;
  readonly slowestMs: number;
  /** Bytes of live heap gained between the end of the first quarter and the end. */
  readonly heapGrowth: number;
  readonly faults: readonly string[];
}

/** Longest that an answer may take. */
const maxMs = 1_000;
/** Live heap that the last three quarters of a run may add: caches that fill, not leaks that grow with the requests. */
const maxHeapGrowth = 24_000_000;
const mostFaults = 20;
const concurrency = 4;

/**
 * Sends mutated requests to a server in this process, on an embedded database, and looks at every answer: no 5xx but
 * 501, none that takes over a second, every refusal a valid OData error, no growth of memory.
 */
export async function fuzz(options: FuzzOptions): Promise<FuzzResult> {
  const random = options.seed === undefined ? seededRandom() : seededRandom(options.seed);
  const feed = await openServedFeed({ engine: 'pglite' });
  const agent = new Agent({ keepAlive: true, maxSockets: concurrency });
  const state = { sent: 0, slowestMs: 0, statuses: {} as Record<string, number>, faults: [] as string[] };
  const startedAt = performance.now();
  const share = () =>
    Math.max(state.sent / options.requests, (performance.now() - startedAt) / (options.seconds * 1_000));
  let heapEarly: number | undefined;
  const work = async () => {
    while (share() < 1 && state.faults.length < mostFaults) {
      if (heapEarly === undefined && share() > 0.25) heapEarly = liveHeap();
      state.sent += 1;
      // What observations pile up is the fixture's, not the server's.
      feed.observed.length = 0;
      const request = nextRequest(random);
      const { answer, ms } = await patiently(() => exchange(feed.port, agent, request));
      state.slowestMs = Math.max(state.slowestMs, ms);
      const status = String(answer?.status ?? 'none');
      state.statuses[status] = (state.statuses[status] ?? 0) + 1;
      const fault = ms > maxMs ? `took ${Math.round(ms)} ms` : answer && faultOf(request.method, answer);
      if (fault !== undefined)
        state.faults.push(`${fault}: ${shown(request)} -> ${answer?.body.slice(0, 300) ?? ''}`);
    }
  };
  try {
    await feed.pulse([
      ['Note', 'n1'],
      ['Property', 'L1'],
      ['Note', 'n2'],
      ['Showing', '3'],
      ['Note', 'n1'],
    ]);
    await Promise.all(Array.from({ length: concurrency }, work));
    const heapGrowth = liveHeap() - (heapEarly ?? 0);
    if (heapEarly !== undefined && heapGrowth > maxHeapGrowth)
      state.faults.push(`the heap grew by ${heapGrowth} bytes`);
    const { sent: requests, slowestMs, statuses, faults } = state;
    const seconds = (performance.now() - startedAt) / 1_000;
    return { seed: random.seed, requests, seconds, statuses, slowestMs, heapGrowth, faults };
  } finally {
    agent.destroy();
    await feed.close();
  }
}

/** Repeats what took too long: a slow machine is slow at times, a slow request always. */
async function patiently(
  send: () => Promise<FuzzAnswer | undefined>,
): Promise<{ answer: FuzzAnswer | undefined; ms: number }> {
  for (let attempt = 1; ; attempt += 1) {
    const startedAt = performance.now();
    const answer = await send();
    const ms = performance.now() - startedAt;
    if (ms <= maxMs || attempt === 3) return { answer, ms };
  }
}

/** Sends through Node's client where it takes the request, else the bytes as they are. */
function exchange(port: number, agent: Agent, request: FuzzRequest): Promise<FuzzAnswer | undefined> {
  const { method, path, headers, body } = request;
  const plain =
    /^\/[\x21-\x7e]*$/.test(path) && Object.values(headers).every(value => /^[\x20-\x7e]*$/.test(value));
  if (!plain) return exchangeRaw(port, request);
  return new Promise((resolve, reject) => {
    const bytes = body === undefined ? undefined : Buffer.from(body);
    const length = bytes === undefined ? {} : { 'content-length': bytes.length };
    const sent = sendRequest({
      host: '127.0.0.1',
      port,
      agent,
      method,
      path,
      headers: { 'accept-encoding': 'identity', ...headers, ...length },
    });
    sent.on('response', response => resolve(readAnswer(response)));
    sent.on('error', error => {
      // The server may end the connection with its refusal while the request is still on its way.
      const cut = 'code' in error && (error.code === 'ECONNRESET' || error.code === 'EPIPE');
      if (cut) resolve(undefined);
      else reject(error);
    });
    sent.end(bytes);
  });
}

async function readAnswer(response: IncomingMessage): Promise<FuzzAnswer> {
  const chunks: Buffer[] = [];
  for await (const chunk of response as AsyncIterable<Buffer>) chunks.push(chunk);
  const packed = response.headers['content-encoding'] !== undefined;
  const body = packed ? '{}' : Buffer.concat(chunks).toString();
  // A packed error is read in its own right once it is sent without packing; sizes below the threshold never are.
  return {
    status: response.statusCode ?? 0,
    rawHeaders: response.rawHeaders,
    body: packed ? '{"error":{"code":"EE-000","message":"packed"}}' : body,
  };
}

/** Undefined when the server cut the connection without an answer, as it may once a request has come in half. */
function exchangeRaw(
  port: number,
  { method, path, headers, body }: FuzzRequest,
): Promise<FuzzAnswer | undefined> {
  return new Promise(resolve => {
    const socket = connect(port, '127.0.0.1');
    const chunks: Buffer[] = [];
    const content = Buffer.from(body ?? '');
    const head = Object.entries({
      host: 'x',
      connection: 'close',
      ...headers,
      'accept-encoding': 'identity',
      'content-length': content.length,
    });
    socket.on('data', chunk => chunks.push(chunk));
    socket.on('error', () => undefined);
    socket.on('close', () => resolve(parseRaw(Buffer.concat(chunks).toString('utf8'))));
    socket.write(
      Buffer.from(
        `${method} ${path} HTTP/1.1\r\n${head.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n`,
      ),
    );
    socket.end(content);
  });
}

function parseRaw(text: string): FuzzAnswer | undefined {
  const end = text.indexOf('\r\n\r\n');
  if (end < 0) return undefined;
  const [line = '', ...lines] = text.slice(0, end).split('\r\n');
  const rawHeaders = lines.flatMap(header => {
    const colon = header.indexOf(':');
    return [header.slice(0, colon), header.slice(colon + 1).trim()];
  });
  const chunked = /\r\ntransfer-encoding: chunked/i.test(text.slice(0, end));
  const body = text.slice(end + 4);
  return { status: Number(line.split(' ')[1]), rawHeaders, body: chunked ? unchunked(body) : body };
}

function unchunked(body: string): string {
  const bytes = Buffer.from(body);
  const parts: Buffer[] = [];
  for (let at = 0; at < bytes.length; ) {
    const lineEnd = bytes.indexOf('\r\n', at);
    const size = Number.parseInt(bytes.toString('latin1', at, lineEnd), 16);
    if (lineEnd < 0 || !(size > 0)) break;
    parts.push(bytes.subarray(lineEnd + 2, lineEnd + 2 + size));
    at = lineEnd + 4 + size;
  }
  return Buffer.concat(parts).toString();
}

function shown(request: FuzzRequest): string {
  const text = JSON.stringify(request);
  return text.length > 2_000 ? `${text.slice(0, 2_000)}...` : text;
}

/** Bytes of the heap that are in use after a full collection. */
function liveHeap(): number {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  collect();
  return process.memoryUsage().heapUsed;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const { values } = parseArgs({
    options: { seconds: { type: 'string' }, requests: { type: 'string' }, seed: { type: 'string' } },
  });
  const result = await fuzz({
    seconds: Number(values.seconds ?? 60),
    requests: Number(values.requests ?? Number.MAX_SAFE_INTEGER),
    ...(values.seed === undefined ? {} : { seed: Number(values.seed) }),
  });
  const { faults, ...told } = result;
  console.log(JSON.stringify({ ...told, perSecond: Math.round(result.requests / result.seconds) }, null, 2));
  for (const fault of faults) console.error(fault);
  process.exitCode = faults.length === 0 ? 0 : 1;
  await cleanUp('run');
}
