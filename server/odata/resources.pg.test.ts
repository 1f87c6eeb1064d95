import assert from 'node:assert/strict';
import { asker, assertError } from './cases/ask.ts';
import { openServedFeed, type ServedFeed } from './cases/served-feed.ts';

describe('resources and methods', () => {
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
});
