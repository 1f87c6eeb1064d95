import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import { atTestEnd } from '../../testing/cleanup.ts';
import { serveFeeds } from '../../testing/served-feeds.ts';
import { changeConsumer, stepWalk } from '../visibility/index.ts';
import { reissue } from './index.ts';

const bearer = (token: string) => ({ headers: { Authorization: `Bearer ${token}` } });
const adminToken = 'operator-token-of-the-tests';

async function readKeys(url: string, token: string): Promise<unknown[]> {
  const response = await fetch(`${url}/EntityEvent?$filter=EntityEventSequence gt 0`, bearer(token));
  assert.equal(response.status, 200);
  const { value } = (await response.json()) as { value: { ResourceRecordKey: string }[] };
  return value.map(({ ResourceRecordKey }) => ResourceRecordKey);
}

const tokenRequest = (url: string, id: string, secret: string, body = 'grant_type=client_credentials') =>
  fetch(`${url}/oauth/token`, {
    method: 'POST',
    headers: {
      'Content-Type': 'application/x-www-form-urlencoded',
      Authorization: `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}`,
    },
    body,
  });

describe('tokens', () => {
  it('let a consumer read its feeds, and nobody without one: every route asks', async () => {
    const { urls, consumer, write, number } = await serveFeeds();
    const [url = ''] = urls;
    await write(`insert into property values ('P0', 'O0', 1, 1), ('P1', 'O0', 0, 1)`);
    await number();
    const { token } = await consumer('reader', ['IDX']);
    assert.deepEqual(await readKeys(url, token), ['P0']);
    const routes = [
      ...['/EntityEvent', '/EntityEvent(1)', '/EntityEvent/$count', '/Property', "/Property('P0')"],
      ...['/Property/$count', '/Office', '/Media', "/Property('P0')/Media", '/Property?$filter=a eq 1'],
    ];
    for (const route of routes) {
      const response = await fetch(`${url}${route}`);
      assert.equal(response.status, 401, route);
      assert.match(response.headers.get('www-authenticate') ?? '', /^Bearer /, route);
    }
    const wrong = await fetch(`${url}/EntityEvent`, bearer('pft_wrong'));
    assert.equal(wrong.status, 401);
    assert.match(wrong.headers.get('www-authenticate') ?? '', /error="invalid_token"/);
    assert.equal(
      (await fetch(`${url}/EntityEvent`, { headers: { Authorization: 'Basic eA==' } })).status,
      401,
    );
  });

  it('end within two seconds on another server once they are rotated', async () => {
    const { urls, consumer, runtime } = await serveFeeds({ servers: 2 });
    const [first = '', second = ''] = urls;
    const { token } = await consumer('reader', ['IDX']);
    assert.equal((await fetch(`${first}/EntityEvent`, bearer(token))).status, 200);
    assert.equal((await fetch(`${second}/EntityEvent`, bearer(token))).status, 200);
    const issued = await reissue(runtime.db, 'reader');
    const rotatedAt = performance.now();
    for (const url of [first, second]) {
      let { status } = await fetch(`${url}/EntityEvent`, bearer(token));
      while (status === 200 && performance.now() - rotatedAt < 5_000) {
        const askedAt = performance.now();
        ({ status } = await fetch(`${url}/EntityEvent`, bearer(token)));
        if (status === 200) assert.ok(askedAt - rotatedAt < 2_000, 'still let in after two seconds');
      }
      assert.equal(status, 401);
      assert.equal((await fetch(`${url}/EntityEvent`, bearer(issued.token))).status, 200);
    }
  });

  it('do not open /admin without its scope', async () => {
    const { urls, consumer } = await serveFeeds({ settings: { adminToken } });
    const [url = ''] = urls;
    const { token } = await consumer('reader', ['IDX']);
    assert.equal((await fetch(`${url}/admin/consumers`)).status, 401);
    assert.equal((await fetch(`${url}/admin/consumers`, bearer(token))).status, 403);
    const { token: admin } = await consumer('operator', [], ['admin']);
    for (const allowed of [admin, adminToken]) {
      assert.equal((await fetch(`${url}/admin/consumers`, bearer(allowed))).status, 200);
    }
  });

  it('of a consumer without the scope read do not read', async () => {
    const { urls, consumer } = await serveFeeds();
    const { token } = await consumer('ingesting', ['IDX'], ['ingest']);
    for (const route of ['/EntityEvent', '/Property', "/Property('P0')"]) {
      assert.equal((await fetch(`${urls[0]}${route}`, bearer(token))).status, 403, route);
    }
  });
});

describe('anonymous readers', () => {
  it('see the feeds that the configuration shows them, and no other', async () => {
    const { urls, write, number } = await serveFeeds({
      feeds: { Open: { Property: 'a eq 1' }, Closed: { '*': true } },
      anonymous: ['Open'],
    });
    await write(`insert into property values ('P0', 'O0', 1, 1), ('P1', 'O0', 0, 1)`);
    await number();
    const { value } = (await (await fetch(`${urls[0]}/Property`)).json()) as {
      value: { ListingKey: string }[];
    };
    assert.deepEqual(
      value.map(({ ListingKey }) => ListingKey),
      ['P0'],
    );
    assert.equal((await fetch(`${urls[0]}/Property('P1')`)).status, 404);
  });

  it('cannot be given more by a consumer of their name', async () => {
    const { consumer } = await serveFeeds();
    await assert.rejects(consumer('anonymous', ['IDX']), /stands for readers without a token/);
  });
});

describe('/oauth/token', () => {
  it('gives a token for client credentials, and what it gives reads', async () => {
    const { urls, consumer } = await serveFeeds();
    const [url = ''] = urls;
    const { clientId, secret } = await consumer('reader', ['IDX']);
    const answer = await tokenRequest(url, clientId, secret);
    assert.equal(answer.status, 200);
    assert.equal(answer.headers.get('cache-control'), 'no-store');
    const body = (await answer.json()) as Record<string, unknown>;
    assert.equal(body.token_type, 'Bearer');
    assert.equal(body.scope, 'read');
    assert.deepEqual(await readKeys(url, String(body.access_token)), []);
    const more = await tokenRequest(url, clientId, secret, 'grant_type=client_credentials&scope=admin');
    assert.equal(((await more.json()) as { error: string }).error, 'invalid_scope');
    const json = await fetch(`${url}/oauth/token`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: '{}',
    });
    assert.ok(json.status >= 400 && json.status < 500, String(json.status));
  });

  it('answers a wrong secret and an unknown client alike, and slows down who goes on', async () => {
    const { urls, consumer } = await serveFeeds();
    const [url = ''] = urls;
    const { clientId } = await consumer('reader', ['IDX']);
    const wrong = await tokenRequest(url, clientId, 'no');
    const unknown = await tokenRequest(url, 'pfc_nobody', 'no');
    assert.deepEqual([wrong.status, await wrong.text()], [unknown.status, await unknown.text()]);
    assert.equal(wrong.status, 401);
    assert.match(wrong.headers.get('www-authenticate') ?? '', /^Basic /);
    let last = wrong;
    for (let n = 0; n < 12 && last.status !== 429; n += 1) last = await tokenRequest(url, clientId, 'no');
    assert.equal(last.status, 429);
    assert.ok(Number(last.headers.get('retry-after')) > 0);
  });
});

describe('limits', () => {
  it('hold across servers and are told in RateLimit headers', async () => {
    const { urls, consumer } = await serveFeeds({ servers: 2, settings: { requestsPerMinute: 3 } });
    const [first = '', second = ''] = urls;
    const { token } = await consumer('reader', ['IDX']);
    const { token: other } = await consumer('other', ['IDX']);
    const answers = [];
    for (const url of [first, second, first, second]) {
      answers.push(await fetch(`${url}/EntityEvent`, bearer(token)));
    }
    assert.deepEqual(
      answers.map(({ status }) => status),
      [200, 200, 200, 429],
    );
    assert.match(answers[1]?.headers.get('ratelimit') ?? '', /^"minute";r=1;t=\d+$/);
    assert.equal(answers[1]?.headers.get('ratelimit-policy'), '"minute";q=3;w=60');
    assert.ok(Number(answers[3]?.headers.get('retry-after')) >= 1);
    assert.equal((await fetch(`${second}/EntityEvent`, bearer(other))).status, 200);
  });
});

describe("tokens of the provider's own identity server", () => {
  it('are taken when signed by its keys for this audience, and name the consumer', async () => {
    const { publicKey, privateKey } = await generateKeyPair('RS256');
    const jwks = { keys: [{ ...(await exportJWK(publicKey)), kid: 'k1', alg: 'RS256' }] };
    const identity = createServer((_request, response) => response.end(JSON.stringify(jwks)));
    await new Promise<void>(resolve => identity.listen(0, '127.0.0.1', resolve));
    atTestEnd(() => new Promise<void>(resolve => identity.close(() => resolve())));
    const { port } = identity.address() as AddressInfo;
    const { urls, consumer } = await serveFeeds({
      settings: { jwksUrl: `http://127.0.0.1:${port}/keys`, jwtAudience: 'feed', jwtClaim: 'client' },
    });
    const [url = ''] = urls;
    const { token } = await consumer('reader', ['IDX']);
    const sign = (claims: Record<string, unknown>, audience: string, key = privateKey) =>
      new SignJWT(claims)
        .setProtectedHeader({ alg: 'RS256', kid: 'k1' })
        .setAudience(audience)
        .setExpirationTime('5m')
        .sign(key);
    const status = async (jwt: string) => (await fetch(`${url}/EntityEvent`, bearer(jwt))).status;
    assert.equal(await status(await sign({ client: 'reader' }, 'feed')), 200);
    assert.equal(await status(await sign({ client: 'reader' }, 'elsewhere')), 401);
    assert.equal(await status(await sign({ client: 'nobody' }, 'feed')), 401);
    assert.equal(await status(await sign({ client: 'anonymous' }, 'feed')), 401);
    const { privateKey: foreign } = await generateKeyPair('RS256');
    assert.equal(await status(await sign({ client: 'reader' }, 'feed', foreign)), 401);
    assert.equal(await status(token), 200);
    identity.closeAllConnections();
  });
});

describe("tokens of an identity server that can't be asked", () => {
  /** A port that nobody listens on. */
  async function closedPort(): Promise<number> {
    const server = createServer();
    await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    await new Promise<void>(resolve => server.close(() => resolve()));
    return port;
  }

  it('are answered 503 with Retry-After, neither taken nor called invalid, and other tokens still read', async () => {
    const { privateKey } = await generateKeyPair('RS256');
    const jwt = await new SignJWT({ sub: 'reader' })
      .setProtectedHeader({ alg: 'RS256', kid: 'k1' })
      .setExpirationTime('5m')
      .sign(privateKey);
    const broken = createServer((_request, response) => response.writeHead(500).end('no'));
    await new Promise<void>(resolve => broken.listen(0, '127.0.0.1', resolve));
    atTestEnd(() => new Promise<void>(resolve => broken.close(() => resolve())));
    for (const port of [await closedPort(), (broken.address() as AddressInfo).port]) {
      const { urls, consumer } = await serveFeeds({ settings: { jwksUrl: `http://127.0.0.1:${port}/keys` } });
      const response = await fetch(`${urls[0]}/EntityEvent`, bearer(jwt));
      assert.equal(response.status, 503);
      assert.ok(Number(response.headers.get('retry-after')) > 0);
      const { error } = (await response.json()) as { error: { code: string; message: string } };
      assert.equal(error.code, 'EE-206');
      assert.ok(!/127|ECONN|fetch failed/.test(error.message), error.message);
      const { token } = await consumer(`reader ${port}`, ['IDX']);
      assert.deepEqual(await readKeys(urls[0] ?? '', token), []);
    }
    broken.closeAllConnections();
  });
});

describe('/metrics', () => {
  it("are the operator's once there are feeds: they count what a consumer may not see", async () => {
    const { urls, consumer } = await serveFeeds({ settings: { adminToken } });
    const { token } = await consumer('reader', ['IDX']);
    const status = async (init?: RequestInit) => (await fetch(`${urls[0]}/metrics`, init)).status;
    assert.equal(await status(), 401);
    assert.equal(await status(bearer('wrong')), 401);
    assert.equal(await status(bearer(token)), 403);
    assert.equal(await status(bearer(adminToken)), 200);
  });
});

describe('FeedTypes', () => {
  const feeds = {
    IDX: { Property: 'a eq 1' },
    VOW: { Property: 'a in (1, 2)' },
    Own: { Property: 'ListOfficeKey eq @consumer.OfficeKey' },
  };

  it('names the feeds of an event that the reader holds: no other, and no private one', async () => {
    const { urls, write, number, consumer, runtime } = await serveFeeds({
      feeds,
      settings: { feedTypes: true },
    });
    await write(`insert into property values ('P0', 'O0', 1, 1), ('P1', 'O1', 2, 1)`);
    await number();
    const { token } = await consumer('idx', ['IDX']);
    const { token: wide } = await consumer('wide', ['VOW', 'IDX']);
    const ask = async (by: string, rest = '') => {
      const response = await fetch(
        `${urls[0]}/EntityEvent?$select=ResourceRecordKey,FeedTypes${rest}`,
        bearer(by),
      );
      const { value } = (await response.json()) as {
        value: { ResourceRecordKey: string; FeedTypes: string[] }[];
      };
      return value.map(({ ResourceRecordKey, FeedTypes }) => `${ResourceRecordKey} ${FeedTypes.join()}`);
    };
    assert.deepEqual(await ask(token), ['P0 IDX']);
    assert.deepEqual(await ask(wide), ['P0 IDX,VOW', 'P1 VOW']);
    // A filter sees what the reader sees.
    assert.deepEqual(await ask(wide, `&$filter=FeedTypes/any(f:f eq 'IDX')`), ['P0 IDX,VOW']);
    assert.deepEqual(await ask(token, `&$filter=FeedTypes/any(f:f eq 'VOW')`), []);
    assert.deepEqual(await ask(token, `&$filter=not FeedTypes/any(f:f eq 'IDX')`), []);
    // What is told to the consumer alone, by a grant, has no feed's name; its new feed's name stands on older events.
    await changeConsumer(runtime.db, 'idx', { grants: ['IDX', 'VOW'] });
    const { tables, rules, db } = runtime;
    for (let step = 0; (await stepWalk({ db, rules, tables, chunk: 100 })).kind === 'queued'; step += 1)
      assert.ok(step < 100);
    await number();
    assert.deepEqual(await ask(token), ['P0 IDX,VOW', 'P1 VOW', 'P1 ']);
    assert.deepEqual(await ask(wide), ['P0 IDX,VOW', 'P1 VOW']);
  });

  it('is there only when it is asked for by the setting, and is empty where nothing is held', async () => {
    const { urls, consumer } = await serveFeeds({ feeds });
    const { token } = await consumer('reader', ['IDX']);
    assert.equal((await fetch(`${urls[0]}/EntityEvent?$select=FeedTypes`, bearer(token))).status, 400);
    const metadata = async (url?: string) => (await fetch(`${url}/$metadata`, bearer(token))).text();
    assert.ok(!(await metadata(urls[0])).includes('FeedTypes'));
    const shown = await serveFeeds({ feeds, settings: { feedTypes: true } });
    const { token: other } = await shown.consumer('reader', ['IDX']);
    const text = await (await fetch(`${shown.urls[0]}/$metadata`, bearer(other))).text();
    assert.match(text, /Name="FeedTypes" Type="Collection\(Edm.String\)" Nullable="false" MaxLength="100"/);
  });
});

describe('/admin', () => {
  it('adds, changes, explains, rotates and disables consumers', async () => {
    const { urls, write, number } = await serveFeeds({ settings: { adminToken } });
    const [url = ''] = urls;
    await write(`insert into property values ('P0', 'O0', 1, 1), ('P1', 'O0', 0, 1)`);
    await number();
    const ask = async (path: string, method = 'GET', body?: object) => {
      const response = await fetch(`${url}/admin/${path}`, {
        method,
        headers: { Authorization: `Bearer ${adminToken}`, 'Content-Type': 'application/json' },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      return { status: response.status, body: (await response.json()) as Record<string, unknown> };
    };
    const added = await ask('consumers', 'POST', { name: 'Acme', feeds: ['IDX'] });
    assert.equal(added.status, 201);
    const token = String(added.body.token);
    assert.deepEqual(await readKeys(url, token), ['P0']);
    assert.equal((await ask('consumers', 'POST', { name: 'Acme' })).status, 409);
    assert.equal((await ask('consumers', 'POST', { name: 'Bad', feeds: ['Nope'] })).status, 404);
    assert.equal((await ask('consumers', 'POST', { name: 'Bad', feed: [] })).status, 400);
    const seen = await ask('consumers/Acme/explain?resource=Property&key=P0');
    assert.equal(seen.body.visible, true);
    const hidden = await ask('consumers/Acme/explain?resource=Property&key=P1');
    assert.deepEqual([hidden.body.visible, hidden.body.known], [false, true]);
    assert.deepEqual((await ask('consumers/Acme', 'PATCH', { feeds: [] })).body.grants, []);
    assert.deepEqual(await readKeys(url, token), []);
    assert.equal((await ask('consumers/Acme', 'PATCH', { disabled: true })).body.disabled, true);
    const rotated = await ask('consumers/Acme/rotate', 'POST');
    assert.notEqual(rotated.body.token, token);
    assert.equal((await fetch(`${url}/EntityEvent`, bearer(String(rotated.body.token)))).status, 401);
    assert.equal((await ask('consumers/Nobody')).status, 404);
    assert.equal((await ask('feeds')).status, 200);
    const text = JSON.stringify((await ask('consumers')).body);
    assert.ok(!/pfs_|pft_|secret/i.test(text), 'secrets are never shown again');
  });
});
