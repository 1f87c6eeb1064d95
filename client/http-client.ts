import { Agent } from 'undici';
import { type Auth, authorizer, type ClientCredentials } from './auth.ts';
import { BadAnswer, type HttpAnswer, send, type Timeouts } from './http-send.ts';
import type { Notify } from './notice.ts';
import { messageOf, ReplicationError } from './replication-error.ts';
import { backoffMs, classifyStatus, type RetryOptions, retryAfterMs } from './retry-policy.ts';
import type { Timing } from './timing.ts';
import { askToken } from './token-request.ts';

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

  /** Waits as told or by chance; throws when the failure is final or was met often enough. */
  async function waitOut(failed: Failed, url: string, ask: Ask, tries: Tries): Promise<void> {
    const error = new ReplicationError(failed.code, `${failed.message} (${url})`, { url, ...failed });
    if (failed.final) throw error;
    const persistent = options.persistent && ask.attempts === undefined;
    const told = failed.code === 'throttled' ? retryAfterMs(failed.retryAfter, timing.now()) : undefined;
    if (told !== undefined) {
      if (++tries.throttles > retry.throttles && !persistent) throw error;
      const waitMs = Math.min(told, retry.maxRetryAfterMs);
      pausedUntil = Math.max(pausedUntil, timing.now() + waitMs);
      const message = `The source asks to wait ${waitMs} ms: ${failed.message}`;
      options.notify({ code: 'throttled', message });
      // The random part keeps many clients from returning in the same moment.
      return timing.sleep(waitMs + backoffMs(0, retry, timing.random()), signal);
    }
    const unclear = failed.status === 500 ? ask.triesOf500 : undefined;
    const attempts = unclear ?? ask.attempts ?? retry.attempts;
    if (++tries.failures >= attempts && (unclear !== undefined || !persistent)) throw error;
    const waitMs = backoffMs(tries.failures - 1, retry, timing.random());
    const code = tries.failures < attempts ? 'retry' : 'source-failing';
    options.notify({ code, message: `${error.message}: trying again in ${Math.round(waitMs)} ms.` });
    return timing.sleep(waitMs, signal);
  }

  async function retrying<A extends Answered, T>(
    url: string,
    ask: Ask,
    sendOnce: () => Promise<A>,
    read: (answer: A) => T,
  ): Promise<T> {
    for (const tries: Tries = { failures: 0, throttles: 0 }; ; ) {
      await timing.sleep(Math.max(0, pausedUntil - timing.now()), signal);
      const outcome = await once(sendOnce, read, signal);
      signal.throwIfAborted();
      if (outcome.kind === 'done') return outcome.value;
      await waitOut(outcome, url, ask, tries);
    }
  }

  return {
    get: (url, ask, read) => retrying(url, ask, () => askSigned(agent, options, auth, url, ask), read),
    close: () => agent.destroy(),
  };
}

type Answered = Pick<HttpAnswer, 'status' | 'headers'>;

interface Tries {
  failures: number;
  throttles: number;
}

interface Failed {
  readonly kind: 'failed';
  readonly code: 'unreachable' | 'throttled' | 'bad-answer' | 'unauthorised';
  readonly message: string;
  readonly final: boolean;
  readonly status?: number;
  readonly retryAfter?: string | undefined;
  readonly cause?: unknown;
}

async function once<A extends Answered, T>(
  sendOnce: () => Promise<A>,
  read: (answer: A) => T,
  signal: AbortSignal,
): Promise<Failed | { kind: 'done'; value: T }> {
  let status: number | undefined;
  try {
    const answer = await sendOnce();
    status = answer.status;
    return failureOf(answer) ?? { kind: 'done', value: read(answer) };
  } catch (error) {
    signal.throwIfAborted();
    const known = status === undefined ? {} : { status };
    if (error instanceof BadAnswer) {
      return { kind: 'failed', code: 'bad-answer', message: error.message, final: false, ...known };
    }
    // What `read` throws beyond that is its verdict; what the connection throws is a passing failure.
    if (error instanceof ReplicationError || status !== undefined) throw error;
    return { kind: 'failed', code: 'unreachable', message: describe(error), final: false, cause: error };
  }
}

function failureOf({ status, headers }: Answered): Failed | undefined {
  const failed = { kind: 'failed', message: `The source answers ${status}`, status } as const;
  switch (classifyStatus(status)) {
    case 'credentials':
      return { ...failed, code: 'unauthorised', final: true };
    case 'throttle':
      return { ...failed, code: 'throttled', final: false, retryAfter: headers['retry-after'] };
    case 'retry':
      return { ...failed, code: 'unreachable', final: false };
    case 'answer':
      return undefined;
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
