import assert from 'node:assert/strict';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Unexercised } from '../rule.ts';
import { Agent, NoAnswer } from './agent.ts';
import type { Clock } from './clock.ts';
import { curlOf, evidenceOf } from './evidence.ts';
import { retryAfterMs } from './retry-after.ts';

/** A clock that moves only when somebody sleeps. */
function fakeClock(): Clock & { slept: number[] } {
  let nowMs = 1_700_000_000_000;
  const slept: number[] = [];
  return {
    slept,
    now: () => nowMs,
    sleep: async ms => {
      slept.push(ms);
      nowMs += ms;
    },
  };
}

async function withAgent<T>(
  listener: RequestListener,
  use: (agent: Agent, clock: ReturnType<typeof fakeClock>, url: string) => Promise<T>,
  paceMs = 0,
): Promise<T> {
  const server = createServer(listener);
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const clock = fakeClock();
  const agent = new Agent({
    baseUrl: `${url}/odata`,
    timeoutMs: 300,
    paceMs,
    maxWaitMs: 10_000,
    deadlineMs: clock.now() + 3_600_000,
    clock,
    credentials: async () => ({ Authorization: 'Bearer secret' }),
  });
  try {
    return await use(agent, clock, url);
  } finally {
    agent.close();
    server.closeAllConnections();
    await new Promise(resolve => server.close(resolve));
  }
}

describe('the agent', () => {
  it('keeps requests apart by the pace', async () => {
    await withAgent(
      (_request, response) => response.end('{}'),
      async (agent, clock) => {
        for (let index = 0; index < 4; index += 1) await agent.send('X');
        assert.deepEqual(clock.slept, [100, 100, 100]);
      },
      100,
    );
  });

  it('waits as long as a 429 asks for, in seconds', async () => {
    let count = 0;
    await withAgent(
      (_request, response) => {
        count += 1;
        if (count === 1) response.writeHead(429, { 'Retry-After': '7' });
        response.end('{}');
      },
      async (agent, clock) => {
        assert.equal((await agent.send('X')).status, 200);
        assert.deepEqual(clock.slept, [7000]);
        assert.equal(agent.throttled, 1);
      },
    );
  });

  it('does not wait longer than allowed, and says what was asked', async () => {
    await withAgent(
      (_request, response) => response.writeHead(429, { 'Retry-After': '11' }).end(),
      async agent => {
        await assert.rejects(
          agent.send('X'),
          (error: unknown) => error instanceof Unexercised && /11 s/.test(error.message),
        );
      },
    );
  });

  it('hands an answer 503 without Retry-After to the rule', async () => {
    await withAgent(
      (_request, response) => response.writeHead(503).end(),
      async agent => assert.equal((await agent.send('X')).status, 503),
    );
  });

  it('sends credentials to the origin of the service and to no other', async () => {
    const seen: (string | undefined)[] = [];
    const note: RequestListener = (request, response) => {
      seen.push(request.headers.authorization);
      response.end('{}');
    };
    await withAgent(note, async agent => {
      await withAgent(note, async (_other, _clock, elsewhere) => {
        await agent.send('X');
        await agent.send(`${elsewhere}/X`);
        await agent.send('X', { anonymous: true });
      });
    });
    assert.deepEqual(seen, ['Bearer secret', undefined, undefined]);
  });

  it('does not follow redirects', async () => {
    await withAgent(
      (_request, response) => response.writeHead(302, { Location: 'http://127.0.0.1:9/' }).end(),
      async agent => assert.equal((await agent.send('X')).status, 302),
    );
  });

  it('gives up for good after three requests without answer', async () => {
    await withAgent(
      request => request.socket.destroy(),
      async agent => {
        for (let index = 0; index < 3; index += 1) await assert.rejects(agent.send('X'), NoAnswer);
        await assert.rejects(agent.send('X'), Unexercised);
        assert.equal(agent.sent, 3);
      },
    );
  });

  it('sends the path as it is given, and says so in the exchange', async () => {
    await withAgent(
      (request, response) => response.end(JSON.stringify(request.url)),
      async agent => {
        const path = "Property('O''Neil%207')?$filter=A%20eq%20%27b%27&%24top=1";
        const exchange = await agent.send(path);
        assert.equal(exchange.text, JSON.stringify(`/odata/${path}`));
        assert.ok(exchange.url.endsWith(`/odata/${path}`));
      },
    );
  });

  it('resolves links that are relative to the service root', async () => {
    await withAgent(
      (_request, response) => response.end(),
      async (agent, _clock, url) => {
        assert.equal(agent.resolve('EntityEvent?$skiptoken=1'), `${url}/odata/EntityEvent?$skiptoken=1`);
        assert.equal(agent.resolve('http://x.example/y'), 'http://x.example/y');
      },
    );
  });
});

describe('Retry-After', () => {
  const nowMs = Date.parse('2024-01-01T00:00:00Z');

  it('is read in seconds and as a date', () => {
    assert.equal(retryAfterMs('120', nowMs), 120_000);
    assert.equal(retryAfterMs('Mon, 01 Jan 2024 00:00:05 GMT', nowMs), 5000);
  });

  it('is never negative, and nothing when it says neither', () => {
    assert.equal(retryAfterMs('Sun, 31 Dec 2023 23:00:00 GMT', nowMs), 0);
    assert.equal(retryAfterMs('soon', nowMs), undefined);
    assert.equal(retryAfterMs(undefined, nowMs), undefined);
  });
});

describe('evidence', () => {
  const exchange = {
    method: 'POST',
    url: "https://api.example.com/X('a')?token=my%20secret",
    requestHeaders: { Authorization: 'Bearer my secret', Accept: 'application/json' },
    requestBody: '{"Token":"my secret"}',
    status: 200,
    headers: { 'content-type': 'application/json', 'set-cookie': 'a=b' },
    text: `my secret${'x'.repeat(3000)}`,
    durationMs: 1.4,
  };

  it('is a curl command that a shell takes as it is', () => {
    assert.equal(
      curlOf({ ...exchange, url: "https://api.example.com/X('a')" }),
      `curl -i -g -X POST -H "Authorization: Bearer $TOKEN" -H 'Accept: application/json' --data '{"Token":"my secret"}' 'https://api.example.com/X('\\''a'\\'')'`,
    );
  });

  it('holds no secret, encoded or not, and an excerpt of the body', () => {
    const text = JSON.stringify(evidenceOf(exchange, ['my secret']));
    assert.doesNotMatch(text, /my secret|my%20secret|set-cookie/);
    assert.ok(text.length < 2000);
  });
});
