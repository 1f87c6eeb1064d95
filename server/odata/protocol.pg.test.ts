import assert from 'node:assert/strict';
import { asker, assertError } from './cases/ask.ts';
import { openServedFeed, type ServedFeed } from './cases/served-feed.ts';

describe('the protocol of a read-only service', () => {
  let feed: ServedFeed;
  let ask: ReturnType<typeof asker>;
  before(async function () {
    this.timeout(60_000);
    feed = await openServedFeed();
    ask = asker(feed.url);
    await feed.pulse([
      ['Property', 'L1'],
      ['Note', 'n1'],
      ['Property', "a/b 'c' & d"],
      ['Showing', '3'],
      ['Note', 'n2'],
    ]);
  });
  after(() => feed.close());

  describe('versions and formats', () => {
    it('answers every request with exactly one OData-Version, errors and 304 too', async () => {
      for (const [path, headers] of [
        ['/', {}],
        ['/$metadata', {}],
        ['/EntityEvent', {}],
        ['/EntityEvent(1)', { 'if-none-match': '*' }],
        ['/EntityEvent(99)', {}],
        ['/EntityEvent?$foo=1', {}],
        ['/Nothing', { 'odata-maxversion': '4.0' }],
        ['/EntityEvent', { 'odata-maxversion': '3.0' }],
      ] as const) {
        const { headers: answered } = await ask(path, headers);
        // fetch would join two headers with a comma.
        assert.match(answered.get('odata-version') ?? '', /^4\.0?1?$/, path);
      }
    });

    it('spells control information by the version that was asked for', async () => {
      const older = await ask('/EntityEvent?$count=true', { 'odata-maxversion': '4.0' });
      assert.equal(older.headers.get('odata-version'), '4.0');
      assert.equal(older.headers.get('content-type'), 'application/json;odata.metadata=minimal');
      assert.ok('@odata.context' in older.json && '@odata.count' in older.json);
      const newer = await ask('/EntityEvent?$count=true', { 'odata-maxversion': '9.9' });
      assert.equal(newer.headers.get('odata-version'), '4.01');
      assert.ok('@context' in newer.json && '@count' in newer.json);
      assert.match(newer.headers.get('vary') ?? '', /OData-MaxVersion/);
    });

    it('answers 4.0 to a client that says it speaks 4.0, and refuses versions it does not know', async () => {
      assert.equal(
        (await ask('/EntityEvent', { 'odata-version': '4.0' })).headers.get('odata-version'),
        '4.0',
      );
      assert.equal((await ask('/EntityEvent', { 'odata-version': '4.01' })).status, 200);
      assertError(await ask('/EntityEvent', { 'odata-version': '5.0' }), 400, 'EE-113', 'OData-Version');
      for (const version of ['3.0', 'abc']) {
        assertError(
          await ask('/EntityEvent', { 'odata-maxversion': version }),
          400,
          'EE-113',
          'OData-MaxVersion',
        );
      }
      const failed = await ask('/Nothing', { 'odata-maxversion': '4.0' });
      assert.equal(failed.headers.get('odata-version'), '4.0');
    });

    it('writes none, minimal and full metadata', async () => {
      const read = async (level: string) =>
        (
          await ask('/EntityEvent?$count=true', {
            accept: `application/json;odata.metadata=${level}`,
            prefer: 'maxpagesize=2',
          })
        ).json;
      const none = await read('none');
      assert.deepEqual(Object.keys(none), ['@odata.count', 'value', '@odata.nextLink']);
      const minimal = await read('minimal');
      assert.equal(Object.keys(minimal)[0], '@odata.context');
      assert.equal(minimal['@odata.context'], `${feed.url}/$metadata#EntityEvent`);
      assert.equal(minimal.value?.[0]?.['@odata.id'], undefined);
      const [row] = (await read('full')).value ?? [];
      assert.equal(row?.['@odata.type'], '#org.reso.metadata.EntityEvent');
      assert.equal(row?.['@odata.id'], `${feed.url}/EntityEvent(1)`);
      assert.equal(row?.['EntityEventSequence@odata.type'], '#Int64');
      assert.equal(row?.['ResourceName@odata.type'], undefined);
    });

    it('writes Int64, Decimal and the count as strings under IEEE754Compatible, else with all their digits', async () => {
      const path = "/Property?$filter=ListingKey eq 'L3'&$select=TaxId,ListPrice&$count=true";
      const exact = await ask(path);
      assert.match(exact.text, /"ListPrice":3000\.75/);
      assert.match(exact.text, /"TaxId":9007199254740993/);
      assert.match(exact.text, /"@odata\.count":1,/);
      const text = await ask(path, { accept: 'application/json;IEEE754Compatible=true' });
      assert.match(text.text, /"TaxId":"9007199254740993"/);
      assert.match(text.text, /"ListPrice":"3000\.75"/);
      assert.match(text.text, /"@odata\.count":"1"/);
      assert.match(text.headers.get('content-type') ?? '', /IEEE754Compatible=true/);
    });

    it('puts $format before Accept', async () => {
      const asked = await ask('/EntityEvent?$format=application/json;odata.metadata=full', {
        accept: 'application/xml',
      });
      assert.equal(asked.headers.get('content-type'), 'application/json;odata.metadata=full');
      assertError(await ask('/EntityEvent?$format=xml'), 406, 'EE-109', '$format');
      assertError(await ask('/EntityEvent', { accept: 'application/atom+xml' }), 406, 'EE-109', 'Accept');
    });

    it('compresses by negotiation and leaves tiny bodies alone', async () => {
      assert.equal(
        (await ask('/Property', { 'accept-encoding': 'gzip' })).headers.get('content-encoding'),
        'gzip',
      );
      assert.equal(
        (await ask('/Property', { 'accept-encoding': 'br' })).headers.get('content-encoding'),
        'br',
      );
      assert.equal(
        (await ask('/Property', { 'accept-encoding': 'identity' })).headers.get('content-encoding'),
        null,
      );
      assert.equal((await ask('/EntityEvent(1)')).headers.get('content-encoding'), null);
    });
  });

  describe('preferences', () => {
    it('applies the page size and says so; sizes that are none are ignored', async () => {
      const asked = await ask('/EntityEvent', { prefer: 'odata.maxpagesize=2' });
      assert.equal(asked.json.value?.length, 2);
      assert.equal(asked.headers.get('preference-applied'), 'maxpagesize=2');
      for (const size of ['0', '-1', 'abc']) {
        assert.equal((await ask('/EntityEvent', { prefer: `maxpagesize=${size}` })).json.value?.length, 5);
      }
    });

    it('leaves nulls out only when asked to, and says so', async () => {
      const path = "/Property?$filter=ListingKey eq 'L4'&$select=ListingKey,ListPrice";
      assert.equal((await ask(path)).json.value?.[0]?.ListPrice, null);
      const asked = await ask(path, { prefer: 'omit-values=nulls' });
      const [{ '@odata.etag': etag, ...row } = {}] = asked.json.value ?? [];
      assert.deepEqual(row, { ListingKey: 'L4' });
      assert.equal(asked.headers.get('preference-applied'), 'omit-values=nulls');
      const one = await ask("/Property('L4')?$select=ListPrice", { prefer: 'omit-values=nulls' });
      assert.equal('ListPrice' in one.json, false);
    });

    it('ignores respond-async and preferences it does not know', async () => {
      const asked = await ask('/EntityEvent', { prefer: 'respond-async, handling=strict' });
      assert.equal(asked.status, 200);
      assert.equal(asked.headers.get('preference-applied'), null);
    });

    it('tells the head when asked to, and on every empty page', async () => {
      const asked = await ask('/EntityEvent?$top=2', { prefer: 'include-annotations="pulsefeed.*"' });
      assert.equal(asked.json['@pulsefeed.head'], 5);
      assert.equal(asked.json['@pulsefeed.scannedTo'], 2);
      assert.equal(asked.headers.get('preference-applied'), 'include-annotations="pulsefeed.*"');
      const empty = await ask('/EntityEvent?$filter=EntityEventSequence gt 99');
      assert.deepEqual(empty.json.value, []);
      assert.equal(empty.json['@pulsefeed.head'], 5);
    });

    it('refuses isolation across requests with 412', async () => {
      assertError(await ask('/EntityEvent', { isolation: 'snapshot' }), 412, 'EE-116');
      assertError(await ask('/EntityEvent', { 'odata-isolation': 'snapshot' }), 412, 'EE-116');
    });
  });

  describe('conditions', () => {
    it('answers 304 without a body to the tag it gave, for events, metadata, OpenAPI and the service document', async () => {
      for (const path of [
        '/EntityEvent(1)',
        '/EntityEvent(1)/ResourceName',
        '/$metadata',
        '/',
        '/openapi.json',
      ]) {
        const first = await ask(path);
        const etag = first.headers.get('etag') ?? '';
        assert.match(etag, /^W\/"/, path);
        for (const header of [etag, '*', `"x", ${etag}`, etag.slice(2)]) {
          const again = await ask(path, { 'if-none-match': header });
          assert.equal(again.status, 304, `${path} ${header}`);
          assert.equal(again.text, '');
          assert.equal(again.headers.get('etag'), etag);
        }
        assert.equal((await ask(path, { 'if-none-match': '"other", garbage' })).status, 200);
      }
    });

    it('tells XML from JSON metadata by their tags', async () => {
      const xml = await ask('/$metadata');
      const json = await ask('/$metadata', { accept: 'application/json' });
      assert.notEqual(xml.headers.get('etag'), json.headers.get('etag'));
    });

    it('answers 412 when If-Match names another state', async () => {
      assertError(await ask('/EntityEvent(1)', { 'if-match': '"other"' }), 412, 'EE-116', 'If-Match');
      assert.equal((await ask('/EntityEvent(1)', { 'if-match': 'W/"1"' })).status, 200);
    });
  });
});
