import assert from 'node:assert/strict';
import { asker, assertError, walk } from './cases/ask.ts';
import { openServedFeed, type ServedFeed } from './cases/served-feed.ts';

type Row = Readonly<Record<string, unknown>>;

describe('paging', () => {
  let feed: ServedFeed;
  let ask: ReturnType<typeof asker>;
  let keys = 0;
  before(async function () {
    this.timeout(60_000);
    feed = await openServedFeed();
    ask = asker(feed.url);
    await addEvents(60);
  });
  after(() => feed.close());

  /** Appends so many events of new records at once. */
  async function addEvents(count: number): Promise<void> {
    const changes = Array.from({ length: count }, () => {
      keys += 1;
      return { resource: 'Note', key: `k${keys}`, op: 'upsert' as const };
    });
    await feed.runtime.log.append(undefined, changes);
    await feed.pulse([]);
  }

  const numbers = (rows: readonly Row[]) => rows.map(row => row.EntityEventSequence as number);
  const pagesOf = (size: number) => ({ prefer: `maxpagesize=${size}` });

  it('gives every event once and ends, at any page size', async () => {
    const all = numbers((await walk(ask, '/EntityEvent')).rows);
    assert.equal(all.length, 60);
    for (const size of [1, 7, 59, 60, 61]) {
      const { rows, pages } = await walk(ask, '/EntityEvent', pagesOf(size));
      assert.deepEqual(numbers(rows), all, `size ${size}`);
      assert.equal(pages.length, Math.ceil(60 / size));
    }
  });

  it('takes $top as a total over the pages, and $skip once', async () => {
    const { rows, pages } = await walk(ask, '/EntityEvent?$top=10&$skip=3&$count=true', pagesOf(4));
    assert.deepEqual(numbers(rows), [4, 5, 6, 7, 8, 9, 10, 11, 12, 13]);
    assert.deepEqual(
      pages.map(page => page.value?.length),
      [4, 4, 2],
    );
    for (const page of pages) assert.equal(page['@odata.count'], 60);
    // A client that repeats it by itself is not moved.
    const again = await ask(`${String(pages[0]?.['@odata.nextLink'])}&$skip=3`, pagesOf(4));
    assert.deepEqual(numbers(again.json.value ?? []), [8, 9, 10, 11]);
    for (const page of pages) assert.doesNotMatch(String(page['@odata.nextLink']), /[?&]\$?skip=/i);
    for (const top of [1, 60]) {
      assert.equal('@odata.nextLink' in (await ask(`/EntityEvent?$top=${top}`, pagesOf(60))).json, false);
    }
  });

  it('lets the page size change on the way', async () => {
    const first = await ask('/EntityEvent', pagesOf(5));
    const second = await ask(first.json['@odata.nextLink'] as string, pagesOf(9));
    const third = await ask(second.json['@odata.nextLink'] as string);
    assert.deepEqual(
      [first, second, third].map(({ json }) => json.value?.length),
      [5, 9, 46],
    );
    assert.equal('@odata.nextLink' in third.json, false);
  });

  it('keeps every option in the link, custom ones and encodings too', async () => {
    const options = [
      `%24filter=contains(ResourceRecordKey,'k') and ResourceRecordKey ne 'a+b %26 c''%25'`,
      'orderby=ResourceName desc',
      '$select=ResourceRecordKey,EntityEventSequence',
      '$count=true',
      '$format=application/json;odata.metadata=full',
      'custom=a%26b%3Dc',
      'custom=2',
      'sp%20ace=',
      '@p=1',
      '$skip=1',
    ];
    const { json, text } = await ask(`/EntityEvent?${options.join('&')}`, pagesOf(3));
    const link = json['@odata.nextLink'] as string;
    assert.match(link, /^[\x21-\x7e]+$/, text);
    assert.doesNotMatch(link, /[ '"<>+]/);
    const given = new URL(link).searchParams;
    assert.equal(
      given.get('$filter'),
      `contains(ResourceRecordKey,'k') and ResourceRecordKey ne 'a b & c''%'`,
    );
    assert.equal(given.get('orderby'), 'ResourceName desc');
    assert.deepEqual(given.getAll('custom'), ['a&b=c', '2']);
    assert.deepEqual([given.get('sp ace'), given.get('@p'), given.get('$count')], ['', '1', 'true']);
    assert.equal(given.get('$skip'), null);
    const next = await ask(link, pagesOf(3));
    assert.equal(next.status, 200, next.text);
    assert.match(next.headers.get('content-type') ?? '', /metadata=full/);
    assert.equal(
      next.json['@odata.context'],
      `${feed.url}/$metadata#EntityEvent(ResourceRecordKey,EntityEventSequence)`,
    );
  });

  it('walks every order forwards and backwards without repeat or gap, nulls included', async () => {
    const properties = [
      'ListingKey',
      'ListPrice',
      'City',
      'BedroomsTotal',
      'TaxId',
      'LivingArea',
      'Active',
      'ListingContractDate',
      'ModificationTimestamp',
    ];
    const orders = [
      ...properties.flatMap(name => [name, `${name} desc`]),
      'City,BedroomsTotal desc,ListPrice',
      'Active desc,City desc',
      'length(City) desc',
      'ListPrice div 7,City',
      'BedroomsTotal mod 3 desc,ListingKey desc',
      'Session',
      'tolower(City)',
      'Active and BedroomsTotal gt 2',
    ];
    for (const order of orders) {
      const whole = (await ask(`/Property?$orderby=${order}&$select=ListingKey`)).json.value ?? [];
      const { rows } = await walk(ask, `/Property?$orderby=${order}&$select=ListingKey`, pagesOf(7));
      assert.deepEqual(
        rows.map(row => row.ListingKey),
        whole.map(row => row.ListingKey),
        order,
      );
      assert.equal(new Set(rows.map(row => row.ListingKey)).size, 41, order);
    }
  });

  it('refuses a token that was altered, is no token, or was made for another query, with 400', async () => {
    const link = (await ask("/EntityEvent?$filter=ResourceName eq 'Note'", pagesOf(3))).json[
      '@odata.nextLink'
    ] as string;
    const token = new URL(link).searchParams.get('$skiptoken') ?? '';
    for (const wrong of [
      `${token}x`,
      token.slice(1),
      'abc',
      '',
      '%00',
      'A'.repeat(30_000),
      token.toUpperCase(),
    ]) {
      assert.equal(
        (await ask(`/EntityEvent?$filter=ResourceName eq 'Note'&$skiptoken=${wrong}`)).status,
        400,
        wrong,
      );
    }
    for (const other of [
      "/EntityEvent?$filter=ResourceName eq 'Office'",
      '/EntityEvent',
      '/Property',
      "/EntityEvent?$filter=ResourceName eq 'Note'&$orderby=ResourceName",
    ]) {
      const separator = other.includes('?') ? '&' : '?';
      assert.equal((await ask(`${other}${separator}$skiptoken=${token}`)).status, 400, other);
    }
    assertError(await ask(`/EntityEvent?$deltatoken=${token}`), 400, 'EE-104', '$deltatoken');
    assertError(await ask(`/EntityEvent/$count?$skiptoken=${token}`), 501, 'EE-112');
  });

  describe('while the log changes', () => {
    it('repeats and skips nothing that stays, as events are added and compacted away, forwards', async () => {
      const before = numbers((await walk(ask, '/EntityEvent')).rows);
      const seen: number[] = [];
      const gone = new Set<number>();
      let next: string | undefined = '/EntityEvent?$filter=EntityEventSequence ge 0';
      for (let page = 0; next !== undefined; page += 1) {
        assert.ok(page < 100, 'the walk does not end');
        const { json }: { json: Readonly<Record<string, unknown>> & { value?: readonly Row[] } } = await ask(
          next,
          pagesOf(8),
        );
        seen.push(...numbers(json.value ?? []));
        next = json['@odata.nextLink'] as string | undefined;
        if (page > 4) continue;
        // 1. New events come behind the head. 2. The row that the token stands on goes, one read and one still to come.
        await addEvents(3);
        const last = seen.at(-1) ?? 0;
        for (const number of [last, last - 3, last + 2]) {
          gone.add(number);
          await feed.script(`delete from pulsefeed.entity_event where seq = ${number}`);
        }
      }
      assert.deepEqual(
        seen,
        [...new Set(seen)].sort((a, b) => a - b),
        'rising, none twice',
      );
      const expected = [...before, ...Array.from({ length: 15 }, (_, n) => (before.at(-1) ?? 0) + 1 + n)];
      assert.deepEqual(
        expected.filter(n => !seen.includes(n) && !gone.has(n)),
        [],
      );
    });

    it('does so backwards, where what is added behind the head is not met', async () => {
      const before = numbers((await walk(ask, '/EntityEvent')).rows);
      const seen: number[] = [];
      const gone = new Set<number>();
      let next: string | undefined = '/EntityEvent?$orderby=EntityEventSequence desc';
      for (let page = 0; next !== undefined; page += 1) {
        assert.ok(page < 100, 'the walk does not end');
        const { json }: { json: Readonly<Record<string, unknown>> & { value?: readonly Row[] } } = await ask(
          next,
          pagesOf(8),
        );
        seen.push(...numbers(json.value ?? []));
        next = json['@odata.nextLink'] as string | undefined;
        if (page > 4) continue;
        await addEvents(2);
        const last = seen.at(-1) ?? 0;
        for (const number of [last, last - 2]) {
          gone.add(number);
          await feed.script(`delete from pulsefeed.entity_event where seq = ${number}`);
        }
      }
      assert.deepEqual(
        seen,
        [...new Set(seen)].sort((a, b) => b - a),
        'falling, none twice',
      );
      assert.deepEqual(
        before.filter(n => !seen.includes(n) && !gone.has(n)),
        [],
      );
      assert.deepEqual(
        seen.filter(n => n > (before.at(-1) ?? 0)),
        [],
      );
    });

    it('walks records in any order while rows are added and deleted between the pages', async () => {
      const path = '/Property?$orderby=City desc,ListPrice&$select=ListingKey';
      const before = (await walk(ask, path)).rows.map(row => row.ListingKey);
      const seen: unknown[] = [];
      const gone = new Set<unknown>();
      let next: string | undefined = path;
      for (let page = 0; next !== undefined; page += 1) {
        assert.ok(page < 100, 'the walk does not end');
        const { json }: { json: Readonly<Record<string, unknown>> & { value?: readonly Row[] } } = await ask(
          next,
          pagesOf(6),
        );
        seen.push(...(json.value ?? []).map(row => row.ListingKey));
        next = json['@odata.nextLink'] as string | undefined;
        if (page > 2) continue;
        const [last, coming] = [seen.at(-1), before[seen.length + 1]];
        for (const key of [last, coming]) {
          gone.add(key);
          await feed.script(
            `delete from property where "ListingKey" = '${String(key).replaceAll("'", "''")}'`,
          );
        }
        await feed.script(`insert into property ("ListingKey", "City") values ('new${page}', 'Zurich')`);
      }
      assert.equal(new Set(seen).size, seen.length);
      assert.deepEqual(
        before.filter(key => !seen.includes(key) && !gone.has(key)),
        [],
      );
    });
  });
});
