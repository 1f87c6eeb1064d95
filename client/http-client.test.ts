import assert from 'node:assert/strict';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { until } from '../testing/until.ts';
import type { Auth } from './auth.ts';
import { type HttpClient, type HttpClientOptions, httpClient } from './http-client.ts';
import { BadAnswer } from './http-send.ts';
import { ReplicationError } from './replication-error.ts';
import { DEFAULT_RETRY, retryAfterMs } from './retry-policy.ts';
import { type FastTiming, fastTiming } from './testing/fast-timing.ts';
import { seededRandom } from './testing/seeded-random.ts';

type Handler = (request: IncomingMessage, response: ServerResponse, count: number, body: string) => void;

interface World {
  readonly url: string;
  readonly http: HttpClient;
  readonly timing: FastTiming;
  readonly requests: IncomingMessage[];
}

/** A client and a server that answers the n-th request (from 1) by `handler`. */
async function withServer(
  handler: Handler,
  options: Partial<HttpClientOptions> & { authFor?: (url: string) => Auth },
  use: (world: World) => Promise<void>,
): Promise<void> {
  const requests: IncomingMessage[] = [];
  const server = createServer((request, response) => {
    let body = '';
    request.on('data', chunk => {
      body += chunk;
    });
    request.on('end', () => handler(request, response, requests.push(request), body));
  });
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const timing = fastTiming(seededRandom(1));
  const http = httpClient({
    ...{
      auth: options.authFor?.(url) ?? { kind: 'none' },
      userAgent: 'test',
      connections: 4,
      persistent: false,
    },
    ...{
      timeouts: { connectMs: 1000, headersMs: 1000, bodyMs: 1000, totalMs: 2000 },
      retry: { ...DEFAULT_RETRY, attempts: 4 },
    },
    ...{ maxBodyBytes: 1 << 20, signal: new AbortController().signal, timing, notify: () => {} },
    ...options,
  });
  try {
    await use({ url, http, timing, requests });
  } finally {
    await http.close();
    server.closeAllConnections();
    server.close();
  }
}

function fails(code: string, pattern = /./) {
  return (error: unknown) =>
    error instanceof ReplicationError && error.code === code && pattern.test(error.message);
}

const OK = (response: ServerResponse) => response.end('ok');

describe('the HTTP client', () => {
  it('waits as long as Retry-After says, in both forms', () =>
    withServer(
      (_, response, count) => {
        if (count === 1) response.writeHead(429, { 'retry-after': '7' }).end();
        else if (count === 2)
          response.writeHead(503, { 'retry-after': new Date(Date.now() + 60_000).toUTCString() }).end();
        else OK(response);
      },
      {},
      async ({ url, http, timing }) => {
        await http.get(url, {}, () => 1);
        assert.ok(
          timing.waits.some(ms => ms >= 7000 && ms < 7600),
          String(timing.waits),
        );
        // Seven of the sixty seconds were over when the date came.
        assert.ok(
          timing.waits.some(ms => ms > 45_000 && ms < 60_600),
          String(timing.waits),
        );
      },
    ));

  it('holds back its other requests, too, while one was told to wait', () => {
    const held: (() => void)[] = [];
    let now = 0;
    const timing = {
      now: () => now,
      random: () => 0,
      sleep: (ms: number) => (ms > 0 ? new Promise<void>(resolve => held.push(resolve)) : Promise.resolve()),
    };
    return withServer(
      (_, response, count) =>
        count === 1 ? response.writeHead(429, { 'retry-after': '7' }).end() : OK(response),
      { timing },
      async ({ url, http, requests }) => {
        // 1. The first request is told to wait. 2. A second one begins. 3. The time is over.
        const first = http.get(url, {}, () => 1);
        await until('the first to wait', () => held.length === 1);
        const second = http.get(url, {}, () => 1);
        await until('the second to wait', () => held.length === 2);
        assert.equal(requests.length, 1);
        now = 7000;
        for (const release of held) release();
        await Promise.all([first, second]);
      },
    );
  });

  it('reads Retry-After', () => {
    assert.equal(retryAfterMs('120', 0), 120_000);
    assert.equal(retryAfterMs('Thu, 01 Jan 1970 00:00:10 GMT', 4000), 6000);
    assert.equal(retryAfterMs('Thu, 01 Jan 1970 00:00:10 GMT', 40_000), 0);
    assert.equal(retryAfterMs('soon', 0), undefined);
    assert.equal(retryAfterMs(undefined, 0), undefined);
  });

  it('backs off with jitter between failures and tells the last one', () =>
    withServer(
      (_, response) => response.writeHead(502).end(),
      {},
      async ({ url, http, timing, requests }) => {
        await assert.rejects(
          http.get(url, {}, () => 1),
          fails('unreachable', /502/),
        );
        assert.equal(requests.length, 4);
        assert.equal(timing.waits.length, 3);
        assert.ok(timing.waits.every((ms, n) => ms < 500 * 2 ** n));
      },
    ));

  it('tries again what the reader refuses, and gives definite errors to the reader', () =>
    withServer(
      (_, response, count) => response.writeHead(count < 3 ? 200 : 404).end('x'),
      {},
      async ({ url, http }) => {
        const status = await http.get(url, {}, answer => {
          if (answer.status === 200) throw new BadAnswer('not this');
          return answer.status;
        });
        assert.equal(status, 404);
      },
    ));

  it('asks for JSON, compressed, past caches, and says who it is', () =>
    withServer(
      (_, response) => OK(response),
      {},
      async ({ url, http, requests }) => {
        await http.get(url, { prefer: 'wait=1' }, () => 1);
        const headers = requests[0]?.headers;
        assert.equal(headers?.accept, 'application/json');
        assert.match(String(headers?.['accept-encoding']), /gzip.*br/);
        assert.deepEqual(
          [headers?.['user-agent'], headers?.prefer, headers?.['cache-control']],
          ['test', 'wait=1', 'no-cache'],
        );
      },
    ));

  const credentials = (url: string): Auth => ({
    ...{ kind: 'client-credentials', tokenUrl: `${url}/token`, clientId: 'me', clientSecret: 's&=' },
  });
  const tokens = (lifeSeconds: number): { handler: Handler; given: () => number; revoke: () => void } => {
    let given = 0;
    let valid = '';
    return {
      given: () => given,
      revoke: () => {
        valid = '';
      },
      handler: (request, response, _, body) => {
        if (request.url === '/token') {
          assert.equal(new URLSearchParams(body).get('client_secret'), 's&=');
          valid = `t${++given}`;
          response.end(
            JSON.stringify({ access_token: valid, token_type: 'Bearer', expires_in: lifeSeconds }),
          );
        } else response.writeHead(request.headers.authorization === `Bearer ${valid}` ? 200 : 401).end();
      },
    };
  };

  it('renews a token before it expires, once for many requests', () => {
    const { handler, given } = tokens(100);
    return withServer(handler, { authFor: credentials }, async ({ url, http, timing }) => {
      await Promise.all([1, 2, 3].map(() => http.get(url, {}, () => 1)));
      assert.equal(given(), 1);
      await timing.sleep(91_000, new AbortController().signal);
      await Promise.all([1, 2, 3].map(() => http.get(url, {}, () => 1)));
      assert.equal(given(), 2);
    });
  });

  it('renews a token that is refused, once, and then gives up', () => {
    const { handler, given, revoke } = tokens(3600);
    return withServer(handler, { authFor: credentials }, async ({ url, http }) => {
      await http.get(url, {}, () => 1);
      revoke();
      await http.get(url, {}, ({ status }) => assert.equal(status, 200));
      assert.equal(given(), 2);
    });
  });

  it('says that it is not authorised when the renewed token is refused as well, or the credentials are', async () => {
    const refusing: Handler = (request, response) =>
      request.url === '/token' ? response.end('{"access_token":"t"}') : response.writeHead(403).end();
    await withServer(refusing, { authFor: credentials }, async ({ url, http, requests }) => {
      await assert.rejects(
        http.get(url, {}, () => 1),
        fails('unauthorised'),
      );
      assert.equal(requests.length, 4);
    });
    await withServer(
      (_, response) => response.writeHead(400).end(),
      { authFor: credentials },
      async ({ url, http }) => {
        await assert.rejects(
          http.get(url, {}, () => 1),
          fails('unauthorised', /token endpoint/),
        );
      },
    );
  });

  it('does not carry credentials to another host', () =>
    withServer(
      (request, response) =>
        request.url === '/here'
          ? response.writeHead(302, { location: '/there' }).end()
          : response.writeHead(302, { location: 'http://localhost:1/' }).end(),
      { auth: { kind: 'bearer', token: 'secret' } },
      async ({ url, http, requests }) => {
        await assert.rejects(
          http.get(`${url}/here`, {}, () => 1),
          fails('bad-answer', /localhost/),
        );
        assert.equal(requests[1]?.url, '/there');
      },
    ));

  it('gives up on an answer that does not come, that stops in the middle, or that is too long', async () => {
    const timeouts = { connectMs: 1000, headersMs: 1000, bodyMs: 1000, totalMs: 60 };
    const retry = { ...DEFAULT_RETRY, attempts: 1 };
    await withServer(
      () => {},
      { timeouts, retry },
      async ({ url, http }) => {
        await assert.rejects(
          http.get(url, {}, () => 1),
          fails('unreachable', /60 ms/),
        );
      },
    );
    await withServer(
      (_, response) => void response.write('{"val'),
      { timeouts, retry },
      async ({ url, http }) => {
        await assert.rejects(
          http.get(url, {}, () => 1),
          fails('unreachable', /60 ms/),
        );
      },
    );
    await withServer(
      (_, response) => response.end('x'.repeat(101)),
      { maxBodyBytes: 100, retry },
      async ({ url, http }) => {
        await assert.rejects(
          http.get(url, {}, () => 1),
          fails('bad-answer', /100 bytes/),
        );
      },
    );
  });

  it('ends with the reason of its signal, also while it waits', () => {
    const stopping = new AbortController();
    const reason = new Error('enough');
    return withServer(
      (_, response) => {
        response.writeHead(500).end();
        stopping.abort(reason);
      },
      { signal: stopping.signal },
      async ({ url, http, requests }) => {
        await assert.rejects(
          http.get(url, {}, () => 1),
          error => error === reason,
        );
        assert.equal(requests.length, 1);
      },
    );
  });
});
