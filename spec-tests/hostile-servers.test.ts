import assert from 'node:assert/strict';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { exitCodeOf } from './report.ts';
import { runConformance } from './runner.ts';
import { startBreakableServer } from './testing/breakable-server.ts';
import { quick } from './testing/run-against.ts';

type Handler = (request: IncomingMessage, response: ServerResponse) => void;

async function withServer<T>(handler: Handler, use: (url: string) => Promise<T>): Promise<T> {
  const server = createServer(handler);
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  try {
    return await use(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  } finally {
    server.closeAllConnections();
    await new Promise(resolve => server.close(resolve));
  }
}

/** Passes requests on to a breakable server until `intercept` answers one itself. */
async function withProxy<T>(
  intercept: (count: number, response: ServerResponse) => boolean,
  use: (url: string, token: string) => Promise<T>,
): Promise<T> {
  const behind = await startBreakableServer();
  let count = 0;
  const handler: Handler = (request, response) => {
    count += 1;
    if (intercept(count, response)) return;
    const headers = Object.fromEntries(
      Object.entries(request.headers).map(([name, value]) => [name, String(value)]),
    );
    delete headers.host;
    delete headers.connection;
    void fetch(`${behind.url}${request.url}`, { headers }).then(async answer => {
      const kept = [...answer.headers].filter(([name]) => !/length|encoding|connection/.test(name));
      response
        .writeHead(answer.status, Object.fromEntries(kept))
        .end((await answer.text()).replaceAll(behind.url, `http://${request.headers.host}`));
    });
  };
  try {
    return await withServer(handler, url => use(url, behind.token));
  } finally {
    await behind.close();
  }
}

describe('a server that cannot be judged', () => {
  it('that refuses connections ends with exit code 2 and says so', async () => {
    const url = await withServer(
      () => undefined,
      async free => free,
    );
    const report = await runConformance({ ...quick, url });
    assert.equal(exitCodeOf(report), 2);
    assert.match(report.problem ?? '', /connection refused/);
    assert.deepEqual(report.rules, []);
  });

  it('whose host is unknown ends with exit code 2 and says so', async () => {
    const report = await runConformance({ ...quick, url: 'http://no-such-host.invalid/odata' });
    assert.equal(exitCodeOf(report), 2);
    assert.match(report.problem ?? '', /host name is not known/);
  });

  it('that refuses the token ends with exit code 2 and names the option', async () => {
    const server = await startBreakableServer();
    const report = await runConformance({ ...quick, url: server.url, token: 'wrong-token-of-ours' });
    await server.close();
    assert.equal(exitCodeOf(report), 2);
    assert.match(report.problem ?? '', /HTTP 401.*--token/);
    assert.ok(!JSON.stringify(report).includes('wrong-token-of-ours'));
  });

  it('whose token endpoint refuses the client ends with exit code 2', async () => {
    const server = await startBreakableServer();
    const report = await runConformance({
      ...quick,
      url: server.url,
      ...server.client,
      clientSecret: 'wrong',
    });
    await server.close();
    assert.equal(exitCodeOf(report), 2);
    assert.match(report.problem ?? '', /no access_token \(HTTP 401\)/);
  });

  it('that sends HTML instead of JSON ends with exit code 2', async () => {
    const html: Handler = (_request, response) => {
      response.writeHead(200, { 'Content-Type': 'text/html' }).end('<html><body>Welcome</body></html>');
    };
    const report = await withServer(html, url => runConformance({ ...quick, url }));
    assert.equal(exitCodeOf(report), 2);
    assert.match(report.problem ?? '', /no OData service.*text\/html/);
  });

  it('that never answers ends within one time limit', async () => {
    const startedMs = performance.now();
    const report = await withServer(
      () => undefined,
      url => runConformance({ ...quick, url, timeoutMs: 200 }),
    );
    assert.equal(exitCodeOf(report), 2);
    assert.match(report.problem ?? '', /no complete answer within 200 ms/);
    assert.ok(performance.now() - startedMs < 2000);
  });

  it('that sends its headers and then nothing ends within one time limit', async () => {
    const stall: Handler = (_request, response) => {
      response.writeHead(200, { 'Content-Type': 'application/json' });
      response.write('{"value":[');
    };
    const report = await withServer(stall, url => runConformance({ ...quick, url, timeoutMs: 200 }));
    assert.equal(exitCodeOf(report), 2);
    assert.match(report.problem ?? '', /no complete answer/);
  });
});

describe('a server that fails on the way', () => {
  it('and falls silent for good costs three time limits, not one for each rule', async () => {
    const startedMs = performance.now();
    const report = await withProxy(
      count => count > 60,
      (url, token) => runConformance({ ...quick, url, token, timeoutMs: 250 }),
    );
    assert.ok(performance.now() - startedMs < 6000);
    assert.match(report.problem ?? '', /3 requests in a row unanswered/);
    assert.notEqual(exitCodeOf(report), 0);
    const last = report.rules.at(-1);
    assert.equal(last?.outcome, 'skip');
  });

  it('with one hanging request fails the rule that sent it and goes on', async () => {
    const report = await withProxy(
      count => count === 40,
      (url, token) => runConformance({ ...quick, url, token, timeoutMs: 400 }),
    );
    assert.equal(report.counts.fail, 1);
    assert.match(
      report.rules.find(rule => rule.outcome === 'fail')?.reason ?? '',
      /no complete answer within 400 ms/,
    );
    assert.equal(exitCodeOf(report), 1);
  });

  it('whose nextLinks never end is walked no further than allowed', async () => {
    let served = 0n;
    const endless: Handler = (request, response) => {
      const path = request.url ?? '';
      response.setHeader('OData-Version', '4.0');
      if (path.startsWith('/$metadata')) {
        response.setHeader('Content-Type', 'application/xml').end(tinyMetadata);
        return;
      }
      served += 1n;
      const row = `{"EntityEventSequence":${served},"ResourceName":"Property","ResourceRecordKey":"1"}`;
      const link = `http://${request.headers.host}/EntityEvent?$skiptoken=${served}`;
      response
        .setHeader('Content-Type', 'application/json')
        .end(`{"@odata.context":"x","value":[${row}],"@odata.nextLink":"${link}"}`);
    };
    const report = await withServer(endless, url =>
      runConformance({ ...quick, url, maxEvents: 150, only: ['rcp-027'] }),
    );
    assert.equal(report.walk?.events, 150);
    assert.equal(report.walk?.complete, false);
    const rule = report.rules.find(each => each.id === 'rcp-027/nextlink-terminates');
    assert.equal(rule?.outcome, 'skip');
  });

  it('that sends HTML on a later page breaks the walk off with that page as evidence', async () => {
    const report = await withProxy(
      (count, response) => {
        if (count !== 6) return false;
        response.writeHead(200, { 'Content-Type': 'text/html' }).end('<html>maintenance</html>');
        return true;
      },
      (url, token) => runConformance({ ...quick, url, token }),
    );
    const rule = report.rules.find(each => each.id === 'rcp-027/well-formed');
    assert.equal(rule?.outcome, 'fail');
    assert.match(rule?.evidence[0]?.responseBody ?? '', /maintenance/);
  });

  it('and asks for patience with 429 is waited for, and judged all the same', async () => {
    const report = await withProxy(
      (count, response) => {
        if (count !== 10 && count !== 50) return false;
        response
          .writeHead(429, { 'Retry-After': count === 10 ? '1' : new Date(Date.now() + 1000).toUTCString() })
          .end();
        return true;
      },
      (url, token) => runConformance({ ...quick, url, token }),
    );
    assert.equal(report.throttled, 2);
    assert.equal(report.counts.fail, 0);
    assert.ok(report.durationMs >= 1000);
  });

  it('and asks for more patience than the run has is skipped, with the wish as the reason', async () => {
    const report = await withProxy(
      (count, response) => {
        if (count < 10) return false;
        response.writeHead(429, { 'Retry-After': '86400' }).end();
        return true;
      },
      (url, token) => runConformance({ ...quick, url, token, only: ['core-2.0.0'] }),
    );
    assert.ok(
      report.rules.some(rule => rule.outcome === 'skip' && /asked to wait 86400 s/.test(rule.reason)),
    );
    assert.equal(report.counts.fail, 0);
  });
});

const tinyMetadata = `<edmx:Edmx xmlns:edmx="http://docs.oasis-open.org/odata/ns/edmx"><edmx:DataServices>
<Schema Namespace="n"><EntityType Name="EntityEvent"><Key><PropertyRef Name="EntityEventSequence"/></Key>
<Property Name="EntityEventSequence" Type="Edm.Int64"/><Property Name="ResourceName" Type="Edm.String"/>
<Property Name="ResourceRecordKey" Type="Edm.String"/></EntityType>
<EntityContainer Name="c"><EntitySet Name="EntityEvent" EntityType="n.EntityEvent"/></EntityContainer></Schema>
</edmx:DataServices></edmx:Edmx>`;
