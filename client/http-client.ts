import { promisify } from 'node:util';
import { brotliDecompress, gunzip, inflate } from 'node:zlib';
import { Agent, request } from 'undici';
import { type Auth, authorizer, type ClientCredentials, type Token, tokenRequestBody } from './auth.ts';
import type { Notify } from './notice.ts';
import { messageOf, ReplicationError } from './replication-error.ts';
import { backoffMs, classifyStatus, type RetryOptions, retryAfterMs } from './retry-policy.ts';
import type { Timing } from './timing.ts';

/** An HTTP answer that was read to its end and decompressed. Header names are in lower case. */
export interface HttpAnswer {
  readonly url: string;
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
}

/** Limits of one request, in milliseconds: to connect, to the headers, between two pieces of the body, and over all. */
export interface Timeouts {
  readonly connectMs: number;
  readonly headersMs: number;
  readonly bodyMs: number;
  readonly totalMs: number;
}

/** What one request asks beyond its URL. */
export interface Ask {
  readonly accept?: string;
  readonly prefer?: string;
  /** Added to the limits: how long the server was asked to hold the request. */
  readonly holdMs?: number;
  /** A bound on the tries that holds for a persistent client, too. */
  readonly attempts?: number;
  /** Tries while the answer is 500, where there is another way to ask and a 500 may mean "not understood". */
  readonly triesOf500?: number;
}

/** Thrown by a `read` function for an answer that is not what was asked for; the request is tried again. */
export class BadAnswer extends Error {}

/** Asks a source, with auth, retries and limits. Every failure leaves as a ReplicationError. */
export interface HttpClient {
  /**
   * GETs until `read` accepts an answer. 2xx and definite errors (400, 404, 410, 501, ...) go to `read`; network failures,
   * passing statuses and a thrown BadAnswer are retried with jitter, `Retry-After` is obeyed for all requests of this client.
   * @throws ReplicationError `unreachable`, `throttled`, `bad-answer`, `unauthorised`; the signal's reason when it aborts.
   */
  get<T>(url: string, ask: Ask, read: (answer: HttpAnswer) => T): Promise<T>;
  close(): Promise<void>;
}

/** What an HttpClient needs. */
export interface HttpClientOptions {
  readonly auth: Auth;
  readonly userAgent: string;
  readonly timeouts: Timeouts;
  readonly retry: RetryOptions;
  readonly connections: number;
  /** Passing failures are waited out for ever, except where a request bounds its tries. */
  readonly persistent: boolean;
  readonly maxBodyBytes: number;
  readonly signal: AbortSignal;
  readonly timing: Timing;
  readonly notify: Notify;
}

/** Opens a client with its own connections; `close` ends them. */
export function httpClient(options: HttpClientOptions): HttpClient {
  const { timing, signal, retry } = options;
  const agent = new Agent({
    connections: options.connections,
    connect: { timeout: options.timeouts.connectMs },
  });
  const fetchToken = (auth: ClientCredentials) =>
    retrying(
      auth.tokenUrl,
      {},
      () => askToken(agent, options, auth),
      x => x,
    );
  const auth = authorizer(options.auth, fetchToken, () => timing.now());
  let pausedUntil = 0;

  async function retrying<A extends { status: number; headers: HttpAnswer['headers'] }, T>(
    url: string,
    ask: Ask,
    send: () => Promise<A>,
    read: (answer: A) => T,
  ): Promise<T> {
    const attempts = ask.attempts ?? retry.attempts;
    const persistent = options.persistent && ask.attempts === undefined;
    let throttles = 0;
    for (let attempt = 0; ; ) {
      await timing.sleep(Math.max(0, pausedUntil - timing.now()), signal);
      const outcome = await once(send, read, signal);
      signal.throwIfAborted();
      if (outcome.kind === 'done') return outcome.value;
      const failed = new ReplicationError(outcome.code, `${outcome.message} (${url})`, { url, ...outcome });
      if (outcome.final) throw failed;
      const told = outcome.code === 'throttled' ? retryAfterMs(outcome.retryAfter, timing.now()) : undefined;
      if (told !== undefined) {
        if (++throttles > retry.throttles && !persistent) throw failed;
        const waitMs = Math.min(told, retry.maxRetryAfterMs);
        pausedUntil = Math.max(pausedUntil, timing.now() + waitMs);
        options.notify({
          code: 'throttled',
          message: `The source asks to wait ${waitMs} ms: ${outcome.message}`,
        });
        // The random part keeps many clients from returning in the same moment.
        await timing.sleep(waitMs + backoffMs(0, retry, timing.random()), signal);
        continue;
      }
      const unclear = outcome.status === 500 ? ask.triesOf500 : undefined;
      if (++attempt >= (unclear ?? attempts) && (unclear !== undefined || !persistent)) throw failed;
      const waitMs = backoffMs(attempt - 1, retry, timing.random());
      const code = attempt < attempts ? 'retry' : 'source-failing';
      options.notify({ code, message: `${failed.message}: trying again in ${Math.round(waitMs)} ms.` });
      await timing.sleep(waitMs, signal);
    }
  }

  return {
    get: (url, ask, read) => retrying(url, ask, () => askSigned(agent, options, auth, url, ask), read),
    close: () => agent.destroy(),
  };
}

type Outcome<T> =
  | { kind: 'done'; value: T }
  | {
      kind: 'failed';
      code: 'unreachable' | 'throttled' | 'bad-answer' | 'unauthorised';
      message: string;
      final: boolean;
      status?: number;
      retryAfter?: string | undefined;
      cause?: unknown;
    };

async function once<A extends { status: number; headers: HttpAnswer['headers'] }, T>(
  send: () => Promise<A>,
  read: (answer: A) => T,
  signal: AbortSignal,
): Promise<Outcome<T>> {
  let answer: A;
  try {
    answer = await send();
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof ReplicationError) throw error;
    const code = error instanceof BadAnswer ? 'bad-answer' : 'unreachable';
    return { kind: 'failed', code, message: describe(error), final: false, cause: error };
  }
  const { status } = answer;
  switch (classifyStatus(status)) {
    case 'credentials':
      return {
        kind: 'failed',
        code: 'unauthorised',
        message: `The source answers ${status}`,
        final: true,
        status,
      };
    case 'throttle': {
      const retryAfter = answer.headers['retry-after'];
      return {
        kind: 'failed',
        code: 'throttled',
        message: `The source answers ${status}`,
        final: false,
        status,
        retryAfter,
      };
    }
    case 'retry':
      return {
        kind: 'failed',
        code: 'unreachable',
        message: `The source answers ${status}`,
        final: false,
        status,
      };
    case 'answer':
      break;
  }
  try {
    return { kind: 'done', value: read(answer) };
  } catch (error) {
    if (!(error instanceof BadAnswer)) throw error;
    return { kind: 'failed', code: 'bad-answer', message: error.message, final: false, status };
  }
}

function describe(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? ` ${String(error.code)}` : '';
  return `The source cannot be read: ${messageOf(error) || 'connection failed'}${code}`;
}

async function askSigned(
  agent: Agent,
  options: HttpClientOptions,
  auth: ReturnType<typeof authorizer>,
  url: string,
  ask: Ask,
): Promise<HttpAnswer> {
  for (let again = true; ; again = false) {
    const header = await auth.header();
    const answer = await follow(agent, options, url, ask, header);
    if (classifyStatus(answer.status) !== 'credentials' || !auth.refused(header) || !again) return answer;
  }
}

async function follow(
  agent: Agent,
  options: HttpClientOptions,
  url: string,
  ask: Ask,
  authorization: string | undefined,
): Promise<HttpAnswer> {
  const headers: Record<string, string> = {
    accept: ask.accept ?? 'application/json',
    'accept-encoding': 'gzip, br, deflate',
    // A cache between here and the source could answer with a record from before its pulse.
    'cache-control': 'no-cache',
    'user-agent': options.userAgent,
  };
  if (ask.prefer !== undefined) headers.prefer = ask.prefer;
  if (authorization !== undefined) headers.authorization = authorization;
  let at = url;
  for (let hops = 0; ; hops++) {
    const answer = await send(agent, options, at, ask.holdMs ?? 0, { method: 'GET', headers });
    const location = answer.headers.location;
    if (![301, 302, 303, 307, 308].includes(answer.status) || location === undefined) return answer;
    const target = new URL(location, at);
    // Credentials never travel to another host, and never from https to http.
    const safe =
      target.hostname === new URL(at).hostname &&
      (target.protocol === 'https:' || new URL(at).protocol === 'http:');
    if (hops >= 3 || !safe)
      throw new BadAnswer(`The source redirects to ${target.origin}, which is not followed`);
    at = target.href;
  }
}

async function askToken(
  agent: Agent,
  options: HttpClientOptions,
  auth: ClientCredentials,
): Promise<Token & { status: number; headers: HttpAnswer['headers'] }> {
  const answer = await send(agent, options, auth.tokenUrl, 0, {
    method: 'POST',
    headers: {
      accept: 'application/json',
      'content-type': 'application/x-www-form-urlencoded',
      'user-agent': options.userAgent,
    },
    body: tokenRequestBody(auth),
  });
  const { status, headers } = answer;
  const failing = classifyStatus(status);
  if (failing === 'retry' || failing === 'throttle') return { value: '', lifeMs: undefined, status, headers };
  if (status < 200 || status > 299) {
    const message = `The token endpoint answers ${status}: the client credentials were not taken.`;
    throw new ReplicationError('unauthorised', message, { status, url: auth.tokenUrl });
  }
  try {
    const body = JSON.parse(answer.text) as { access_token?: unknown; expires_in?: unknown };
    if (typeof body.access_token !== 'string')
      throw new BadAnswer('The token endpoint gives no access_token');
    const seconds = Number(body.expires_in ?? Number.NaN);
    return {
      value: body.access_token,
      lifeMs: Number.isFinite(seconds) ? seconds * 1000 : undefined,
      status,
      headers,
    };
  } catch (error) {
    throw error instanceof BadAnswer ? error : new BadAnswer('The token endpoint does not answer JSON');
  }
}

interface Outgoing {
  readonly method: 'GET' | 'POST';
  readonly headers: Record<string, string>;
  readonly body?: string;
}

async function send(
  agent: Agent,
  options: HttpClientOptions,
  url: string,
  holdMs: number,
  outgoing: Outgoing,
): Promise<HttpAnswer> {
  const { timeouts, signal } = options;
  const controller = new AbortController();
  const abort = () => controller.abort(signal.reason);
  signal.throwIfAborted();
  signal.addEventListener('abort', abort);
  const totalMs = timeouts.totalMs + holdMs;
  const timer = setTimeout(() => controller.abort(new Error(`no complete answer in ${totalMs} ms`)), totalMs);
  try {
    const { statusCode, headers, body } = await request(url, {
      ...outgoing,
      dispatcher: agent,
      signal: controller.signal,
      headersTimeout: timeouts.headersMs + holdMs,
      bodyTimeout: timeouts.bodyMs,
    });
    const flat: Record<string, string> = {};
    for (const [name, value] of Object.entries(headers))
      flat[name] = Array.isArray(value) ? value.join(', ') : (value ?? '');
    const bytes = await collect(body, options.maxBodyBytes);
    return {
      url,
      status: statusCode,
      headers: flat,
      text: await decode(bytes, flat['content-encoding'], options.maxBodyBytes),
    };
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', abort);
  }
}

async function collect(body: AsyncIterable<Buffer>, maxBytes: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of body) {
    bytes += chunk.length;
    if (bytes > maxBytes) throw new BadAnswer(`The answer is longer than ${maxBytes} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

const DECODERS = {
  gzip: promisify(gunzip),
  'x-gzip': promisify(gunzip),
  br: promisify(brotliDecompress),
  deflate: promisify(inflate),
};

async function decode(bytes: Buffer, encoding: string | undefined, maxBytes: number): Promise<string> {
  let plain = bytes;
  const name = (encoding ?? 'identity').trim().toLowerCase();
  if (name !== 'identity' && name !== '' && bytes.length > 0) {
    if (!Object.hasOwn(DECODERS, name))
      throw new BadAnswer(`The answer is compressed with ${name}, which was not offered`);
    try {
      plain = await DECODERS[name as keyof typeof DECODERS](bytes, { maxOutputLength: maxBytes });
    } catch (error) {
      throw new BadAnswer(`The compressed answer cannot be read: ${messageOf(error)}`);
    }
  }
  return new TextDecoder().decode(plain);
}
