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

  describe('resources', () => {
    it('serves the service document with and without a slash', async () => {
      const expected = {
        '@odata.context': `${feed.url}/$metadata`,
        value: ['EntityEvent', 'Property', 'Showing'].map(name => ({ name, kind: 'EntitySet', url: name })),
      };
      assert.deepEqual((await ask('/')).json, expected);
      assert.deepEqual((await ask('')).json, expected);
    });

    it('finds an entity by each spelling of its key', async () => {
      for (const key of ['(2)', '(EntityEventSequence=2)', '(%32)', "('2')", '(@k)?@k=2', '%282%29']) {
        const { json, text } = await ask(`/EntityEvent${key}`);
        assert.equal(json.EntityEventSequence, 2, `${key} ${text}`);
        assert.equal(json['@odata.context'], `${feed.url}/$metadata#EntityEvent/$entity`);
      }
    });

    it('reads the record behind ResourceRecordUrl, whatever its key holds', async () => {
      const { json } = await ask('/EntityEvent(3)');
      const record = await ask(json.ResourceRecordUrl as string);
      assert.equal(record.json.ListingKey, "a/b 'c' & d");
      assert.equal((await ask('/EntityEvent(2)')).json.ResourceRecordUrl, null);
    });

    it('answers 404 for a key that is not there and 400 for one that is none', async () => {
      for (const key of ['(99)', '(9223372036854775807)', '(0)', '(-1)']) {
        assertError(await ask(`/EntityEvent${key}`), 404, 'EE-107');
      }
      for (const key of [
        '()',
        '(1,2)',
        '(Wrong=1)',
        '(4.2)',
        '(null)',
        "('x')",
        '(9223372036854775808)',
        '(true)',
      ]) {
        const asked = await ask(`/EntityEvent${key}`);
        assert.ok(asked.status === 400 || asked.status === 404, `${key} ${asked.status}`);
        assert.ok(asked.json.error?.code);
      }
    });

    it('reads a property, its raw value, and 204 for null', async () => {
      const { json } = await ask('/EntityEvent(2)/ResourceName');
      assert.deepEqual(json, {
        '@odata.context': `${feed.url}/$metadata#EntityEvent(2)/ResourceName`,
        value: 'Note',
      });
      const raw = await ask('/EntityEvent(2)/EntityEventSequence/$value');
      assert.equal(raw.text, '2');
      assert.match(raw.headers.get('content-type') ?? '', /^text\/plain/);
      const none = await ask('/EntityEvent(2)/ResourceRecordUrl');
      assert.equal(none.status, 204);
      assert.equal(none.headers.get('odata-version'), '4.01');
      assert.equal((await ask("/Property('L4')/ListPrice/$value")).status, 204);
      assertError(await ask('/EntityEvent(2)/$value'), 400, 'EE-100');
      assertError(await ask('/EntityEvent(2)/Wrong'), 404, 'EE-107');
      assertError(await ask('/EntityEvent(2)/ResourceName/$value', { accept: 'image/png' }), 406, 'EE-109');
    });

    it('finds an entity by its id', async () => {
      for (const id of ['EntityEvent(2)', '/EntityEvent(2)', `${feed.url}/EntityEvent(2)`]) {
        const { json } = await ask(`/$entity?$id=${encodeURIComponent(id)}&$select=ResourceRecordKey`);
        assert.equal(json.ResourceRecordKey, 'n1', id);
      }
      assert.equal((await ask('/$entity?id=EntityEvent(2)')).status, 200);
      assertError(await ask('/$entity'), 400, 'EE-101', '$id');
      assertError(await ask('/$entity?$id=EntityEvent'), 400, 'EE-101', '$id');
      assertError(await ask('/$entity?$id=http://other.example/EntityEvent(2)'), 400, 'EE-100');
      assertError(await ask('/$entity?$id=EntityEvent(99)'), 404, 'EE-107');
    });

    it('counts as text, whatever options have no effect on it', async () => {
      const asked = await ask('/EntityEvent/$count');
      assert.equal(asked.text, '5');
      assert.equal(asked.headers.get('content-type'), 'text/plain');
      assert.equal(
        (await ask("/EntityEvent/$count?$filter=ResourceName eq 'Note'&$top=1&$skip=1")).text,
        '2',
      );
      assertError(await ask('/EntityEvent/$count?$search=x'), 501, 'EE-112');
    });

    it('refuses what it does not serve with 501 and what is not there with 404', async () => {
      for (const path of [
        '/$all',
        '/$crossjoin(Property,Showing)',
        '/EntityEvent/$ref',
        '/EntityEvent(1)/$ref',
        '/EntityEvent/org.reso.metadata.EntityEvent',
        '/EntityEvent/$each',
      ]) {
        assertError(await ask(path), 501, 'EE-112');
      }
      for (const path of [
        '/Nothing',
        '/EntityEvent/Nothing',
        '/EntityEvent/42',
        '/$nothing',
        '/EntityEvent/$count/x',
        '/%20',
      ]) {
        assertError(await ask(path), 404, 'EE-107');
      }
    });
  });

  describe('methods', () => {
    it('answers 405 with Allow to every other method, everywhere', async () => {
      for (const path of [
        '/',
        '/$metadata',
        '/EntityEvent',
        '/EntityEvent(1)',
        '/EntityEvent(1)/ResourceName',
        '/EntityEvent/$count',
        '/$entity?$id=EntityEvent(1)',
        '/openapi.json',
        '/Property',
      ]) {
        for (const method of ['POST', 'PUT', 'PATCH', 'DELETE', 'PROPFIND']) {
          const asked = await ask(path, {}, { method });
          assertError(asked, 405, 'EE-108');
          assert.equal(asked.headers.get('allow'), 'GET, HEAD, OPTIONS', path);
        }
      }
      for (const path of ['/$batch', '/EntityEvent/$query']) {
        const asked = await ask(path);
        assertError(asked, 405, 'EE-108');
        assert.equal(asked.headers.get('allow'), 'POST, OPTIONS');
      }
    });

    it('answers HEAD as GET without the body', async () => {
      for (const path of ['/', '/$metadata', '/EntityEvent', '/EntityEvent(1)', '/EntityEvent/$count']) {
        const get = await ask(path, { 'accept-encoding': 'identity' });
        const head = await ask(path, { 'accept-encoding': 'identity' }, { method: 'HEAD' });
        assert.equal(head.status, 200);
        assert.equal(head.text, '');
        for (const name of ['content-type', 'content-length', 'odata-version', 'etag', 'vary']) {
          assert.equal(head.headers.get(name), get.headers.get(name), `${path} ${name}`);
        }
      }
    });

    it('tells the methods by OPTIONS', async () => {
      const asked = await ask('/EntityEvent', {}, { method: 'OPTIONS' });
      assert.equal(asked.status, 204);
      assert.equal(asked.headers.get('allow'), 'GET, HEAD, OPTIONS');
      assert.equal((await ask('/$batch', {}, { method: 'OPTIONS' })).headers.get('allow'), 'POST, OPTIONS');
    });

    it('lets browsers of other origins read, with the headers that they need', async () => {
      const preflight = await ask(
        '/EntityEvent',
        {
          origin: 'https://app.example',
          'access-control-request-method': 'GET',
          'access-control-request-headers': 'prefer',
        },
        { method: 'OPTIONS' },
      );
      assert.equal(preflight.status, 204);
      assert.equal(preflight.headers.get('access-control-allow-origin'), '*');
      assert.equal(preflight.headers.get('access-control-allow-headers'), 'prefer');
      assert.equal(preflight.headers.get('odata-version'), '4.01');
      const asked = await ask('/EntityEvent', { origin: 'https://app.example' });
      assert.match(
        asked.headers.get('access-control-expose-headers') ?? '',
        /OData-Version.*Preference-Applied.*ETag/,
      );
    });
  });

  describe('query options', () => {
    it('takes names in any case, without $ and encoded', async () => {
      for (const name of ['$top', 'top', 'Top', '$TOP', '%24top', '$%74op']) {
        assert.equal((await ask(`/EntityEvent?${name}=1`)).json.value?.length, 1, name);
      }
      assert.equal((await ask('/EntityEvent?filter=EntityEventSequence%20gt%204')).json.value?.length, 1);
    });

    it('refuses an option given twice in any spelling, and an unknown one', async () => {
      assertError(await ask('/EntityEvent?$top=1&Top=1'), 400, 'EE-102');
      assertError(await ask('/EntityEvent?$foo=1'), 400, 'EE-103');
      assertError(await ask('/EntityEvent?$filterX eq 1'), 400, 'EE-103');
    });

    it('ignores custom options and unused aliases', async () => {
      assert.equal((await ask('/EntityEvent?custom=1&custom=2&@x=1')).json.value?.length, 5);
    });

    it('answers 501 to options of OData that it does not serve', async () => {
      for (const option of [
        '$apply=aggregate($count as n)',
        '$search=x',
        '$compute=1 add 1 as x',
        '$index=1',
      ]) {
        assertError(await ask(`/EntityEvent?${option}`), 501, 'EE-112', option.split('=')[0]);
      }
    });

    it('refuses values that are none and takes huge ones', async () => {
      for (const value of ['-1', '1.5', '', '1e3', ' 5', '0x1', 'abc']) {
        assertError(await ask(`/EntityEvent?$top=${value}`), 400, 'EE-101', '$top');
        assertError(await ask(`/EntityEvent?$skip=${value}`), 400, 'EE-101', '$skip');
      }
      for (const value of ['', '1', 'yes']) {
        assertError(await ask(`/EntityEvent?$count=${value}`), 400, 'EE-101', '$count');
      }
      assert.equal((await ask('/EntityEvent?$top=99999999999999999999')).json.value?.length, 5);
      assert.deepEqual((await ask('/EntityEvent?$skip=99999999999999999999')).json.value, []);
      assert.equal((await ask('/EntityEvent?$count=TRUE&$top=0')).json['@odata.count'], 5);
    });

    it('names the selection in the context, and the entity by its id where the key is left out', async () => {
      const asked = await ask('/EntityEvent?$select= ResourceName , ResourceName&$top=1');
      assert.equal(asked.json['@odata.context'], `${feed.url}/$metadata#EntityEvent(ResourceName)`);
      assert.deepEqual(asked.json.value, [
        { '@odata.id': `${feed.url}/EntityEvent(1)`, ResourceName: 'Property' },
      ]);
      assert.equal((await ask('/EntityEvent?$select=*')).json.value?.[0]?.['@odata.id'], undefined);
      assertError(await ask('/EntityEvent?$select=Wrong'), 400, 'EE-101', '$select');
      assertError(await ask('/EntityEvent?$orderby=Wrong'), 400, 'EE-101', '$orderby');
      assertError(await ask('/EntityEvent?$filter=Wrong eq 1'), 400, 'EE-101', '$filter');
    });

    it('sorts nulls first ascending and last descending, ties by the key', async () => {
      const keys = async (order: string) =>
        ((await ask(`/Property?$orderby=${order}&$select=ListingKey,City`)).json.value ?? []).map(
          ({ City }) => City,
        );
      const up = await keys('City');
      assert.equal(up.indexOf(null), 0);
      assert.equal((await keys('City desc')).lastIndexOf(null), up.length - 1);
    });

    it('answers numbers, texts and times beyond every type without a fault of ours', async () => {
      const filters = [
        'BedroomsTotal eq 99999999999',
        'BedroomsTotal add 2147483647 gt 0',
        'TaxId add 9223372036854775807 gt 0',
        'TaxId mul TaxId mul TaxId gt 1',
        'LivingArea mul 1e308 mul 1e308 gt 1',
        'ListPrice div BedroomsTotal gt 1',
        'ListPrice gt 99999999999999999999999999999999999999999',
        'substring(City,99999999999) eq null',
        "City eq '\u{10ffff}'",
        'ListingContractDate gt 9999-12-31',
      ];
      for (const filter of filters) {
        const asked = await ask(`/Property?$top=1&$filter=${encodeURIComponent(filter)}`);
        assert.ok(asked.status === 200 || asked.status === 400, `${filter} ${asked.text}`);
      }
      for (const order of [
        'TaxId mul TaxId mul TaxId',
        'ListPrice div BedroomsTotal',
        'LivingArea mul 1e308',
      ]) {
        const asked = await ask(`/Property?$top=1&$orderby=${encodeURIComponent(order)}`);
        assert.ok(asked.status === 200 || asked.status === 400, `${order} ${asked.text}`);
      }
      for (const broken of ['%00', '%ED%A0%80', '%C0%80', '%zz', '%']) {
        assertError(await ask(`/Property?$filter=City eq '${broken}'`), 400, 'EE-101');
      }
    });

    it('decodes once, so that an encoded percent sign stays one', async () => {
      assert.deepEqual(
        (await ask('/EntityEvent?$filter=ResourceName%20eq%20%27x%2527%20or%20true%27')).json.value,
        [],
      );
    });

    it('tells a client that writes 42L what to write instead', async () => {
      for (const path of ['/EntityEvent(3L)', '/EntityEvent?$filter=EntityEventSequence gt 3L']) {
        const asked = await ask(path);
        assertError(asked, 400, 'EE-101');
        assert.match(asked.json.error?.message ?? '', /write the number alone: 3/);
      }
    });

    it('keeps rows with null under ne, and drops them under gt', async () => {
      const count = async (filter: string) => Number((await ask(`/Property/$count?$filter=${filter}`)).text);
      assert.equal(await count('ListPrice ne 1000.25'), 40);
      assert.equal(await count('ListPrice gt 0'), 30);
      assert.equal(await count('not (ListPrice gt 0)'), 11);
      assert.equal(await count('ListPrice eq @missing'), 11);
    });
  });

  describe('$query', () => {
    const post = (path: string, body: string, type = 'text/plain') =>
      ask(path, { 'content-type': type }, { method: 'POST', body });

    it('merges the options of the body with those of the URL', async () => {
      const asked = await post(
        '/EntityEvent/$query?$top=1',
        "$filter=ResourceName%20eq%20'Note'&$count=true\r\n",
      );
      assert.equal(asked.json['@odata.count'], 2);
      assert.equal(asked.json.value?.length, 1);
      assertError(await post('/EntityEvent/$query?$top=1', '$top=2'), 400, 'EE-102');
    });

    it('pages by GET, with options that no URL could hold packed into the link', async () => {
      const keys = Array.from({ length: 1_900 }, (_, n) => `'a record that is not there, number ${n}'`);
      const options = `$filter=ResourceRecordKey in (${keys.join(',')},'n1','n2','L1')&custom=kept`;
      const first = await ask(
        '/EntityEvent/$query',
        { 'content-type': 'text/plain', prefer: 'maxpagesize=2' },
        {
          method: 'POST',
          body: options,
        },
      );
      const next = first.json['@odata.nextLink'] as string;
      assert.ok(options.length > 65_536 && next.length < 32_768, `${next.length}`);
      const second = await ask(next, { prefer: 'maxpagesize=2' });
      assert.equal(second.status, 200, second.text);
      assert.deepEqual(
        second.json.value?.map(row => row.ResourceRecordKey),
        ['n2'],
      );
      assert.equal('@odata.nextLink' in second.json, false);
    });

    it('refuses other types of body, and bodies that are too large or no UTF-8', async () => {
      assertError(await post('/EntityEvent/$query', '{}', 'application/json'), 415, 'EE-111');
      assertError(await post('/EntityEvent/$query', 'x'.repeat(1_100_000)), 413, 'EE-110');
      const asked = await ask(
        '/EntityEvent/$query',
        { 'content-type': 'text/plain' },
        {
          method: 'POST',
          body: new Uint8Array([0x24, 0xff]),
        },
      );
      assertError(asked, 400, 'EE-100');
    });
  });
});
