import assert from 'node:assert/strict';
import { asker, assertError } from './cases/ask.ts';
import { openServedFeed, type ServedFeed } from './cases/served-feed.ts';

describe('query options', () => {
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
