import { Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import supertest from 'supertest';
import { Unexercised } from '../rule.ts';
import type { Clock } from './clock.ts';
import type { Exchange } from './exchange.ts';
import { retryAfterMs } from './retry-after.ts';

/** A request got no complete answer: refused, reset, timed out or too large. The message says which, in words. */
export class NoAnswer extends Error {
  readonly request: { method: string; url: string };

  constructor(message: string, request: { method: string; url: string }) {
    super(message);
    this.request = request;
  }
}

/** What one request may ask for. */
export type Ask = {
  method?: string;
  headers?: Record<string, string>;
  body?: string;
  /** Send no credentials. */
  anonymous?: boolean;
  /** The limit for this one request, in milliseconds; shorter than the agent's own. */
  timeoutMs?: number;
};

/** What the agent needs. */
export type AgentOptions = {
  /** The service root without trailing slash. */
  baseUrl: string;
  timeoutMs: number;
  paceMs: number;
  /** Wait at most this long, in all, for one request that is answered 429 or 503 with Retry-After. */
  maxWaitMs: number;
  /** The instant at which the run ends, in milliseconds since the epoch. */
  deadlineMs: number;
  clock: Clock;
  /** The headers that carry the credentials, fetched for each request. */
  credentials: () => Promise<Record<string, string>>;
};

const maxBodyBytes = 64 * 1024 * 1024;
const tooManyUnanswered = 3;

/**
 * Sends requests politely: one at a time per caller, at least `paceMs` apart in all, waiting where the server says 429.
 *
 * States: answering, and given up. Three requests in a row without an answer end the second state never again, so that
 * a dead server costs three time limits and not one for each rule.
 * Invariants: credentials go to the origin of the service root and nowhere else; no redirect is followed.
 */
export class Agent {
  private readonly options: AgentOptions;
  private readonly origin: string;
  /** Connections are kept, which spares the server (and us) a handshake for each request. */
  private readonly sockets: HttpAgent;
  private nextSlotMs = 0;
  private unanswered = 0;
  /** Requests sent so far, with repeats. */
  sent = 0;
  /** How often the server asked for patience. */
  throttled = 0;

  constructor(options: AgentOptions) {
    this.options = options;
    const { origin, protocol } = new URL(options.baseUrl);
    this.origin = origin;
    this.sockets =
      protocol === 'https:' ? new HttpsAgent({ keepAlive: true }) : new HttpAgent({ keepAlive: true });
  }

  /** Closes the connections. No request may follow. */
  close(): void {
    this.sockets.destroy();
  }

  /** Why no more requests are sent, or undefined while the server answers. */
  get givenUp(): string | undefined {
    if (this.unanswered >= tooManyUnanswered)
      return `the server left ${tooManyUnanswered} requests in a row unanswered`;
    if (this.options.clock.now() >= this.options.deadlineMs) return 'the time limit of the run was reached';
    return undefined;
  }

  /**
   * Sends one request. `target` is a path below the service root, or an absolute URL as found in a nextLink.
   * Resolves with any HTTP answer, whatever its status.
   * @throws NoAnswer when there is none, Unexercised when the agent has given up.
   */
  async send(target: string, ask: Ask = {}): Promise<Exchange> {
    const url = this.resolve(target);
    const { clock, maxWaitMs } = this.options;
    const patienceEndsMs = clock.now() + maxWaitMs;
    for (;;) {
      const exchange = await this.sendOnce(url, ask);
      if (exchange.status !== 429 && exchange.status !== 503) return exchange;
      const waitMs = retryAfterMs(exchange.headers['retry-after'], clock.now()) ?? 1000;
      if (exchange.status === 503 && exchange.headers['retry-after'] === undefined) return exchange;
      if (clock.now() + waitMs > Math.min(patienceEndsMs, this.options.deadlineMs)) {
        throw new Unexercised(
          `the server asked to wait ${Math.ceil(waitMs / 1000)} s (HTTP ${exchange.status})`,
          [exchange],
        );
      }
      this.throttled += 1;
      this.nextSlotMs = Math.max(this.nextSlotMs, clock.now() + waitMs);
    }
  }

  /** The absolute URL of a path below the service root, or of an absolute link, spelt as it goes over the wire. */
  resolve(target: string): string {
    return new URL(target, `${this.options.baseUrl}/`).href;
  }

  private async sendOnce(url: string, ask: Ask): Promise<Exchange> {
    const gone = this.givenUp;
    if (gone !== undefined) throw new Unexercised(gone);
    await this.takeSlot();
    const method = ask.method ?? 'GET';
    const sameOrigin = new URL(url).origin === this.origin;
    const credentials = ask.anonymous === true || !sameOrigin ? {} : await this.options.credentials();
    const headers: Record<string, string> = { Accept: 'application/json', ...ask.headers, ...credentials };
    if (ask.body !== undefined) headers['Content-Type'] ??= 'application/json';
    this.sent += 1;
    try {
      const exchange = await perform(url, {
        method,
        headers,
        ...(ask.body === undefined ? {} : { body: ask.body }),
        timeoutMs: ask.timeoutMs ?? this.options.timeoutMs,
        ...(sameOrigin ? { sockets: this.sockets } : {}),
      });
      this.unanswered = 0;
      return exchange;
    } catch (error) {
      this.unanswered += 1;
      throw new NoAnswer(describeFailure(error, ask.timeoutMs ?? this.options.timeoutMs), { method, url });
    }
  }

  private async takeSlot(): Promise<void> {
    const { clock, paceMs } = this.options;
    const slotMs = Math.max(clock.now(), this.nextSlotMs);
    this.nextSlotMs = slotMs + paceMs;
    if (slotMs > clock.now()) await clock.sleep(slotMs - clock.now());
  }
}

async function perform(
  url: string,
  ask: {
    method: string;
    headers: Record<string, string>;
    body?: string;
    timeoutMs: number;
    sockets?: HttpAgent;
  },
): Promise<Exchange> {
  const { method, headers, body, timeoutMs } = ask;
  const { origin } = new URL(url);
  const startedMs = performance.now();
  const test = supertest(origin)
    [methodName(method)](url.slice(origin.length) || '/')
    .set(headers)
    .redirects(0)
    .trustLocalhost(true)
    .ok(() => true)
    .timeout({ response: timeoutMs, deadline: timeoutMs })
    .buffer(true)
    .maxResponseSize(maxBodyBytes)
    .parse(collectText);
  if (ask.sockets !== undefined) test.agent(ask.sockets);
  const response = await (body === undefined ? test : test.send(body));
  const exchange: Exchange = {
    method,
    url,
    requestHeaders: headers,
    status: response.status,
    headers: flatHeaders(response.headers),
    text: typeof response.body === 'string' ? response.body : (response.text ?? ''),
    durationMs: performance.now() - startedMs,
  };
  return body === undefined ? exchange : { ...exchange, requestBody: body };
}

function methodName(method: string): 'get' | 'post' | 'put' | 'patch' | 'delete' | 'head' {
  switch (method) {
    case 'POST':
      return 'post';
    case 'PUT':
      return 'put';
    case 'PATCH':
      return 'patch';
    case 'DELETE':
      return 'delete';
    case 'HEAD':
      return 'head';
    default:
      return 'get';
  }
}

function collectText(response: supertest.Response, done: (error: Error | null, body: string) => void): void {
  const chunks: Buffer[] = [];
  // superagent hands over the raw stream of the answer, whatever its types say.
  const stream = response as unknown as NodeJS.ReadableStream;
  stream.on('data', (chunk: Buffer | string) => chunks.push(Buffer.from(chunk)));
  stream.on('end', () => done(null, Buffer.concat(chunks).toString('utf8')));
}

function flatHeaders(headers: Record<string, string | string[] | undefined>): Record<string, string> {
  const flat: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers)) {
    if (value !== undefined) flat[name.toLowerCase()] = Array.isArray(value) ? value.join(', ') : value;
  }
  return flat;
}

function describeFailure(error: unknown, timeoutMs: number): string {
  const fault = error as { code?: string; timeout?: number; message?: string };
  // supertest puts the code into the message of some errors and leaves it on others.
  const text = `${fault.code ?? ''} ${fault.message ?? String(error)}`;
  if (fault.timeout !== undefined) return `no complete answer within ${timeoutMs} ms`;
  if (/ECONNREFUSED/.test(text)) return 'connection refused';
  if (/ENOTFOUND|EAI_AGAIN/.test(text)) return 'the host name is not known';
  if (/ECONNRESET|socket hang up|aborted/.test(text)) return 'the connection was closed without an answer';
  return fault.message ?? String(error);
}
