import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { Router } from 'express';
import { PulsefeedError } from '../errors.ts';
import type { Observation } from '../observe.ts';
import { createHttpApp, factsOf } from './app.ts';
import { errorAnswer } from './error-body.ts';
import { type HttpServer, listenHttp } from './listen.ts';

/** What came back over a bare socket, one answer. */
interface RawAnswer {
  readonly status: number;
  readonly head: string;
  readonly body: string;
}

describe('the HTTP server', () => {
  let server: HttpServer;
  const observed: Observation[] = [];
  before(async () => {
    const router = Router();
    router.get('/hello', (_request, response) => {
      response.type('text/plain').send('hello');
    });
    router.get('/late', async (_request, response) => {
      await new Promise(resolve => response.write('half of', resolve));
      throw new Error('the database went away');
    });
    router.get('/fault', () => {
      throw new Error('select secret from table');
    });
    router.get('/inner', (_request, response) => {
      factsOf(response).innerFaults.push(new Error('within'));
      response.end();
    });
    const app = createHttpApp(
      {
        observe: observation => observed.push(observation),
        trustProxy: 'true',
        corsOrigins: ['https://app.example'],
        now: () => 0,
      },
      [router],
    );
    server = await listenHttp(app, {
      host: '127.0.0.1',
      port: 0,
      maxHeaderBytes: 8_192,
      requestTimeoutMs: 1_000,
    });
  });
  after(() => server.stop(100));

  /** Sends bytes as they are and reads until the server closes. */
  async function raw(text: string): Promise<RawAnswer> {
    const socket = connect(server.port, '127.0.0.1');
    const chunks: Buffer[] = [];
    socket.on('data', chunk => chunks.push(chunk));
    socket.write(text);
    await new Promise<void>((resolve, reject) => socket.once('close', () => resolve()).once('error', reject));
    const answer = Buffer.concat(chunks).toString();
    const [head = '', ...body] = answer.split('\r\n\r\n');
    return { status: Number(head.split(' ')[1]), head, body: body.join('\r\n\r\n') };
  }

  function assertRefusal(answer: RawAnswer, status: number, code: string): void {
    assert.equal(answer.status, status, answer.head);
    assert.equal(answer.head.match(/^OData-Version: 4\.01$/gim)?.length, 1);
    assert.match(answer.head, /^Content-Type: application\/json;odata\.metadata=minimal$/im);
    assert.match(answer.head, /^Content-Language: en$/im);
    const { error } = JSON.parse(answer.body) as { error: { code: string; message: string } };
    assert.equal(error.code, code);
    assert.ok(error.message);
  }

  it('answers what is no HTTP with an OData error', async () => {
    for (const text of [
      'nonsense\r\n\r\n',
      'GET / HTTP/9.9\r\n\r\n',
      'GET /\u0001 HTTP/1.1\r\nHost: x\r\n\r\n',
      'FOO / HTTP/1.1\r\n\r\n',
      'POST /x HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n',
      'GET / HTTP/1.1\r\nBad Header: x\r\n\r\n',
      'POST /x HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n',
    ]) {
      assertRefusal(await raw(text), 400, 'EE-100');
    }
  });

  it('answers a URL that is too long with 414 and headers that are too large with 431', async () => {
    assertRefusal(await raw(`GET /${'x'.repeat(20_000)} HTTP/1.1\r\n`), 414, 'EE-115');
    assertRefusal(await raw(`GET / HTTP/1.1\r\nHost: x\r\nA: ${'x'.repeat(20_000)}\r\n\r\n`), 431, 'EE-117');
  });

  it('answers a request that does not arrive in time with 408', async () => {
    assertRefusal(await raw('GET / HTTP/1.1\r\nHost: x\r\n'), 408, 'EE-100');
  });

  it('answers a request without Host, of HTTP/1.1, with a body', async () => {
    assertRefusal(await raw('GET /hello HTTP/1.1\r\nConnection: close\r\n\r\n'), 400, 'EE-100');
    assert.equal((await raw('GET /hello HTTP/1.0\r\n\r\n')).body, 'hello');
  });

  it('passes over an expectation that it does not know, and is no proxy', async () => {
    const expecting = await raw(
      'GET /hello HTTP/1.1\r\nHost: x\r\nExpect: miracles\r\nConnection: close\r\n\r\n',
    );
    assert.deepEqual([expecting.status, expecting.body], [200, 'hello']);
    const answer = await raw('CONNECT other.example:443 HTTP/1.1\r\nHost: other.example\r\n\r\n');
    assertRefusal(answer, 405, 'EE-108');
    assert.match(answer.head, /^Allow: /im);
  });

  it('cuts the connection when a fault comes after the first byte, so that a short answer is never taken for whole', async () => {
    const { head, body } = await raw('GET /late HTTP/1.1\r\nHost: x\r\n\r\n');
    assert.match(head, /^Transfer-Encoding: chunked$/im);
    assert.doesNotMatch(body, /^0\r\n/m);
  });

  it('keeps the text of a fault of ours from the client and tells it to the operator', async () => {
    const response = await fetch(`${server.url}/fault`);
    assert.equal(response.status, 500);
    assert.doesNotMatch(await response.text(), /secret/);
    await fetch(`${server.url}/inner`);
    const failed = observed.flatMap(observation =>
      observation.kind === 'RequestFailed' ? [String(observation.error)] : [],
    );
    assert.deepEqual(failed.slice(-2), ['Error: select secret from table', 'Error: within']);
  });

  it('sends a policy that lets nothing be loaded, and HSTS over TLS only', async () => {
    const plain = await fetch(`${server.url}/hello`);
    assert.equal(
      plain.headers.get('content-security-policy'),
      "default-src 'none';base-uri 'none';frame-ancestors 'none'",
    );
    assert.equal(plain.headers.get('strict-transport-security'), null);
    assert.equal(plain.headers.get('x-content-type-options'), 'nosniff');
    assert.equal(plain.headers.get('x-powered-by'), null);
    const secure = await fetch(`${server.url}/hello`, { headers: { 'x-forwarded-proto': 'https' } });
    assert.equal(secure.headers.get('strict-transport-security'), 'max-age=31536000');
  });

  it('allows the configured origins only, and says that the answer varies by origin', async () => {
    const read = async (origin: string) =>
      (await fetch(`${server.url}/hello`, { headers: { origin } })).headers;
    const allowed = await read('https://app.example');
    assert.equal(allowed.get('access-control-allow-origin'), 'https://app.example');
    assert.match(allowed.get('vary') ?? '', /Origin/);
    assert.equal((await read('https://other.example')).get('access-control-allow-origin'), null);
  });

  it('keeps a request id that is short and plain, and no other', async () => {
    const id = async (given: string) =>
      (await fetch(`${server.url}/hello`, { headers: { 'x-request-id': given } })).headers.get(
        'x-request-id',
      );
    assert.equal(await id('abc-1'), 'abc-1');
    assert.match((await id('a b')) ?? '', /^[0-9a-f-]{36}$/);
  });
});

describe('what the database refuses', () => {
  const answered = (code: string) =>
    errorAnswer(Object.assign(new Error('column "x" of select ...'), { code }));

  it('is a fault of the request where its values or its size were refused', () => {
    for (const state of ['22003', '22012', '22P05', '22021', '2201B']) {
      assert.deepEqual([answered(state).status, answered(state).code], [400, 'EE-101'], state);
    }
    for (const state of ['57014', '54001', '54000']) {
      assert.deepEqual([answered(state).status, answered(state).code], [400, 'EE-106'], state);
    }
  });

  it('is ours otherwise, and never shows its text', () => {
    assert.deepEqual([answered('42883').status, answered('42883').code], [500, 'EE-900']);
    assert.equal(answered('57P01').status, 503);
    for (const state of ['22003', '57014', '42883', '57P01', '42P01']) {
      assert.doesNotMatch(answered(state).body, /select|"x"/, state);
    }
  });

  it('leaves our own errors as they are', () => {
    const answer = errorAnswer(
      new PulsefeedError('EE-101', 'm', { target: '$top', details: [{ code: 'EE-101', message: 'd' }] }),
    );
    assert.deepEqual(JSON.parse(answer.body), {
      error: { code: 'EE-101', message: 'm', target: '$top', details: [{ code: 'EE-101', message: 'd' }] },
    });
  });
});
