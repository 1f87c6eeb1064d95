import assert from 'node:assert/strict';
import type { ResourceConfig } from '../base/config/index.ts';
import { type ServedRecords, serveRecords } from './cases/served-records.ts';

/** 60 listings: every kind of value, a null in each third row, equal timestamps in fives. */
const tables = `
create table property (
  "ListingKey" varchar(255) primary key, "ListPrice" numeric(14,2), "BedroomsTotal" integer, "StandardStatus" varchar(25),
  "ListingContractDate" date, "ModificationTimestamp" timestamptz(3) not null, "View" text[], "WaterfrontYN" boolean
);
insert into property
select 'L' || lpad(n::text, 3, '0'), case when n % 3 <> 0 then n * 1000.25 end, n % 5,
  (array['Active', 'Pending', 'Closed'])[1 + n % 3], date '2024-02-20' + n,
  now() - interval '100 days' + (n / 5) * interval '1 hour',
  case n % 4 when 0 then null when 1 then '{}'::text[] when 2 then '{Ocean}' else '{Ocean,City}' end, n % 2 = 0
from generate_series(1, 60) n;
`;

const resources: readonly ResourceConfig[] = [{ name: 'Property', table: 'property', key: 'ListingKey' }];

const open = async (): Promise<ServedRecords> => {
  const served = await serveRecords(tables, resources);
  await served.settle();
  return served;
};

/** Numbers 1 to 60 as keys, where the condition holds. */
const keysWhere = (holds: (n: number) => boolean) =>
  Array.from({ length: 60 }, (_, index) => index + 1)
    .filter(holds)
    .map(n => `L${String(n).padStart(3, '0')}`);

describe('Web API Core on record resources', () => {
  it('answers fetch-by-key, select, top, skip and count', async () => {
    const { request, all } = await open();
    const one = await request("/Property('L007')");
    assert.equal(one.json.ListPrice, 7001.75);
    assert.equal((await request("/Property(ListingKey='L007')")).status, 200);
    const select = await request('/Property?$select=ListingKey,ListPrice&$top=5');
    assert.deepEqual(Object.keys(select.json.value[4] ?? {}).sort(), [
      '@odata.etag',
      'ListPrice',
      'ListingKey',
    ]);
    assert.equal(select.json['@odata.nextLink'], undefined);
    assert.deepEqual(
      await all('/Property?$top=5&$skip=5', 'ListingKey'),
      keysWhere(n => n > 5 && n <= 10),
    );
    const count = await request('/Property?$count=true&$top=0');
    assert.equal(count.json['@odata.count'], 60);
    assert.deepEqual(count.json.value, []);
    const one404 = await request("/Property('none')");
    assert.equal(one404.status, 404);
    assert.equal((await request('/NoSuchResource')).status, 404);
    assert.equal((await request("/Property?$filter=BadField eq 'SoBad'")).status, 400);
  });

  it('filters integers, decimals, dates, timestamps, strings and collections', async () => {
    const { all } = await open();
    const cases: [string, (n: number) => boolean][] = [
      ['BedroomsTotal eq 3', n => n % 5 === 3],
      ['BedroomsTotal ne 3', n => n % 5 !== 3],
      ['BedroomsTotal gt 3', n => n % 5 > 3],
      ['BedroomsTotal ge 3 and BedroomsTotal le 3', n => n % 5 === 3],
      ['BedroomsTotal lt 1 or BedroomsTotal gt 3', n => n % 5 < 1 || n % 5 > 3],
      ['not (BedroomsTotal eq 0)', n => n % 5 !== 0],
      ['ListPrice gt 50012.5', n => n % 3 !== 0 && n > 50],
      ['ListPrice eq 50012.5', n => n === 50],
      ['ListPrice ne null and ListPrice le 2000.5', n => n <= 2],
      ['ListPrice eq null', n => n % 3 === 0],
      ['ListingContractDate gt 2024-04-10', n => n > 50],
      ['ListingContractDate eq 2024-02-29', n => n === 9],
      ['year(ListingContractDate) eq 2024 and month(ListingContractDate) eq 2', n => n <= 9],
      ['ModificationTimestamp lt now()', () => true],
      ['ModificationTimestamp gt now()', () => false],
      ['ModificationTimestamp ne now()', () => true],
      ['ModificationTimestamp lt 2019-12-31T23:55:55-09:00', () => false],
      ["StandardStatus eq 'Active'", n => n % 3 === 0],
      ["StandardStatus ne 'Active'", n => n % 3 !== 0],
      ["StandardStatus in ('Active','Closed')", n => n % 3 !== 1],
      ["View/any(v:v eq 'Ocean')", n => n % 4 > 1],
      ["View/all(v:v eq 'Ocean')", n => n % 4 !== 3],
      ["View/any(v:v eq 'City' or v eq 'Ocean')", n => n % 4 > 1],
      ['View/any()', n => n % 4 > 1],
      ['WaterfrontYN eq true', n => n % 2 === 0],
      ['ListPrice mul 2 eq 4001', n => n === 2],
      ["contains(tolower(StandardStatus),'clos')", n => n % 3 === 2],
      ["ListingKey in ('L001','L002','x')", n => n <= 2],
    ];
    for (const [filter, holds] of cases) {
      const found = await all(
        `/Property?$select=ListingKey&$filter=${encodeURIComponent(filter)}`,
        'ListingKey',
      );
      assert.deepEqual(found, keysWhere(holds), filter);
    }
  });

  it('counts the members of a collection property, null having none, and takes options of one record in a body', async () => {
    const { request } = await open();
    for (const [key, members] of [
      ['L003', '2'],
      ['L002', '1'],
      ['L001', '0'],
      ['L004', '0'],
    ]) {
      const { status, text, headers } = await request(`/Property('${key}')/View/$count`);
      assert.deepEqual([status, text, headers.get('content-type')], [200, members, 'text/plain'], key);
    }
    assert.equal((await request("/Property('none')/View/$count")).status, 404);
    assert.equal((await request("/Property('L003')/ListPrice/$count")).status, 404);
    assert.equal((await request("/Property('L003')/View/$count?$filter=true")).status, 501);
    const post = (path: string) =>
      request(path, { method: 'POST', body: '$select=ListPrice', headers: { 'Content-Type': 'text/plain' } });
    const one = await post("/Property('L007')/$query");
    assert.deepEqual(
      Object.keys(one.json).filter(name => !name.startsWith('@')),
      ['ListPrice'],
    );
    assert.equal((await request("/Property('L007')/$query")).status, 405);
  });

  it('sorts with nulls below every value', async () => {
    const { all } = await open();
    const ascending = await all('/Property?$orderby=ListPrice', 'ListPrice');
    assert.equal(ascending.indexOf(1000.25), 20);
    assert.ok(ascending.slice(0, 20).every(price => price === null));
    const descending = await all('/Property?$orderby=ListPrice desc', 'ListPrice');
    assert.deepEqual(descending, [...ascending].reverse());
    const twice = await all('/Property?$orderby=StandardStatus desc,ModificationTimestamp', 'StandardStatus');
    assert.deepEqual(twice, [...twice].sort().reverse());
  });

  it('goes through ten pages under a timestamp filter, each row once, no link at the end', async () => {
    const { request } = await open();
    const year = new Date(Date.now() - 365 * 86_400_000).toISOString();
    const filter = `ModificationTimestamp gt ${year} and ModificationTimestamp lt now()`;
    for (const order of ['', '&$orderby=ModificationTimestamp desc', '&$orderby=ListPrice']) {
      const seen = new Set<unknown>();
      let next = `/Property?$filter=${encodeURIComponent(filter)}${order}`;
      let pages = 0;
      while (next !== '' && pages < 20) {
        const { json } = await request(next, { headers: { Prefer: 'odata.maxpagesize=6' } });
        assert.ok(json.value.length > 0);
        for (const { ListingKey } of json.value) {
          assert.ok(!seen.has(ListingKey));
          seen.add(ListingKey);
        }
        pages += 1;
        next = String(json['@odata.nextLink'] ?? '');
      }
      assert.equal(pages, 10);
      assert.equal(seen.size, 60);
    }
    const top = await request('/Property?$top=1');
    assert.equal(top.json['@odata.nextLink'], undefined);
  });

  it('fetches a thousand keys in one request, by URL and by $query', async () => {
    const { request } = await open();
    const keys = Array.from({ length: 1_000 }, (_, n) => `'L${String(n).padStart(3, '0')}'`);
    const query = `$select=ListingKey&$filter=ListingKey in (${keys.join(',')})`;
    const got = await request(`/Property?${query}`);
    assert.equal(got.json.value.length, 60, got.text.slice(0, 300));
    const posted = await request('/Property/$query', {
      method: 'POST',
      body: query,
      headers: { 'Content-Type': 'text/plain' },
    });
    assert.equal(posted.json.value.length, 60);
  });

  it('serves Field and Lookup with a count that can be consumed', async () => {
    const { request, all } = await open();
    const fields = await all(
      "/Field?$filter=ResourceName eq 'Property'&$orderby=FieldName desc",
      'FieldName',
    );
    assert.equal(fields[0], 'WaterfrontYN');
    assert.equal(fields.length, 8);
    const filter = "LookupName eq 'StandardStatus' and ModificationTimestamp lt now()";
    const { json } = await request(`/Lookup?$count=true&$top=3&$filter=${filter}`);
    const rest = await all(`/Lookup?$skip=3&$filter=${filter}`, 'LookupValue');
    assert.equal(json['@odata.count'], 3 + rest.length);
    assert.ok([...rest, ...json.value.map(row => row.LookupValue)].includes('Active'));
    const whole = await request('/Lookup?$count=true', { headers: { Prefer: 'maxpagesize=7' } });
    assert.equal((await all('/Lookup', 'LookupKey')).length, whole.json['@odata.count']);
    assert.equal((await request("/Field('Property.ListPrice')")).json.FieldName, 'ListPrice');
    assert.equal((await request("/Field('Property.Nothing')")).status, 404);
  });

  it('names the field whose column is dropped under the running service', async () => {
    const { request, script } = await open();
    await script('alter table property drop column "BedroomsTotal"');
    const { status, json } = await request('/Property');
    assert.equal(status, 500);
    const { code, message } = json.error as { code: string; message: string };
    assert.equal(code, 'EE-705');
    assert.match(message, /the field BedroomsTotal of Property is not in the database any more/);
    assert.equal((await request("/Property('L001')?$select=ListPrice")).status, 200);
  });
});
