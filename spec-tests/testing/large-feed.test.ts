import assert from 'node:assert/strict';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { runConformance } from '../runner.ts';

/** `PULSEFEED_TORTURE_CONFORMANCE_EVENTS=100000` measures the size that the suite promises to walk within a minute. */
const events = Number(process.env.PULSEFEED_TORTURE_CONFORMANCE_EVENTS ?? 5000);
const first = 2n ** 53n;
const pageSize = 1000;

const metadata = `<edmx:Edmx xmlns:edmx="http://docs.oasis-open.org/odata/ns/edmx"><edmx:DataServices>
<Schema Namespace="n"><EntityType Name="EntityEvent"><Key><PropertyRef Name="EntityEventSequence"/></Key>
<Property Name="EntityEventSequence" Type="Edm.Int64"/><Property Name="ResourceName" Type="Edm.String"/>
<Property Name="ResourceRecordKey" Type="Edm.String"/></EntityType>
<EntityContainer Name="c"><EntitySet Name="EntityEvent" EntityType="n.EntityEvent"/></EntityContainer></Schema>
</edmx:DataServices></edmx:Edmx>`;

/** Serves nothing but a long log by position, so that the time measured is the suite's. */
function startLongLog(): Promise<Server> {
  const server = createServer((request, response) => {
    response.setHeader('OData-Version', '4.0');
    const url = new URL(request.url ?? '/', 'http://127.0.0.1');
    if (url.pathname === '/$metadata') {
      response.setHeader('Content-Type', 'application/xml').end(metadata);
      return;
    }
    const asked = /gt (\d+)$/.exec(url.searchParams.get('$filter') ?? '')?.[1];
    const after = asked ?? /^\d+$/.exec(url.searchParams.get('$skiptoken') ?? '')?.[0] ?? '0';
    const from = BigInt(after) < first ? 0 : Number(BigInt(after) - first) + 1;
    const isDown = /desc/.test(url.searchParams.get('$orderby') ?? '');
    const size = Math.min(pageSize, Number(url.searchParams.get('$top') ?? pageSize));
    const at = isDown
      ? Array.from({ length: size }, (_, index) => events - 1 - index)
      : range(from, from + size);
    const rows = at.map(
      index =>
        `{"EntityEventSequence":${first + BigInt(index)},"ResourceName":"Property","ResourceRecordKey":"K${index}"}`,
    );
    const isPartial = !isDown && size === pageSize && from + size < events;
    const last = first + BigInt(from + size - 1);
    const link = isPartial ? `,"@odata.nextLink":"/EntityEvent?$skiptoken=${last}"` : '';
    response
      .setHeader('Content-Type', 'application/json')
      .end(`{"@odata.context":"$metadata#EntityEvent","value":[${rows.join(',')}]${link}}`);
  });
  return new Promise(resolve => server.listen(0, '127.0.0.1', () => resolve(server)));
}

function range(from: number, to: number): number[] {
  return Array.from({ length: Math.max(0, Math.min(to, events) - from) }, (_, index) => from + index);
}

describe(`a log of ${events} events`, () => {
  it('is walked to its end, politely, within a minute', async () => {
    const server = await startLongLog();
    try {
      const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
      const report = await runConformance({ url, only: ['rcp-027'], paceMs: events >= 100_000 ? 50 : 10 });
      assert.equal(report.walk?.events, events);
      assert.equal(report.walk?.complete, true);
      assert.equal(report.rules.find(rule => rule.id === 'rcp-027/sequence-unique')?.outcome, 'pass');
      assert.ok(report.durationMs < 60_000, `${report.durationMs} ms`);
    } finally {
      server.closeAllConnections();
      await new Promise(resolve => server.close(resolve));
    }
  }).timeout(90_000);
});
