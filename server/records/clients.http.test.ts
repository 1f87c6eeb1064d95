import assert from 'node:assert/strict';
import { OData } from '@odata/client';
import type { ResourceConfig } from '../base/config/index.ts';
import { adminToken, type ServedRecords, serveRecords } from './cases/served-records.ts';

interface Media {
  readonly MediaKey: string;
  readonly Order: number;
}

interface Property {
  readonly ListingKey: string;
  readonly ListPrice: number;
  readonly City: string | null;
  readonly Media?: readonly Media[];
}

const total = 53;

const tables = `
create table property ("ListingKey" text primary key, "ListPrice" numeric(14,2), "City" text);
create table media ("MediaKey" text primary key, "Order" integer, "ResourceRecordKey" text);
insert into property
select 'it''s/' || lpad(n::text, 3, '0'), n * 1000.5, case when n % 2 = 0 then 'São Paulo' end from generate_series(1, ${total}) n;
insert into media select 'M' || n, n, 'it''s/' || lpad((1 + n % ${total})::text, 3, '0') from generate_series(1, 106) n;
`;

const resources: readonly ResourceConfig[] = [
  { name: 'Property', table: 'property', key: 'ListingKey', writable: true },
  {
    name: 'Media',
    table: 'media',
    key: 'MediaKey',
    parents: [{ resource: 'Property', column: 'ResourceRecordKey' }],
  },
];

const keyOf = (n: number) => `it's/${String(n).padStart(3, '0')}`;

async function served(): Promise<ServedRecords> {
  const records = await serveRecords(tables, resources);
  await records.settle();
  return records;
}

describe('@odata/client on records', () => {
  const connect = ({ url }: ServedRecords, commonHeaders: Record<string, string> = {}) =>
    OData.New4({ serviceEndpoint: `${url}/`, commonHeaders });

  it('filters, selects, sorts, expands and counts', async () => {
    const client = connect(await served());
    const set = client.getEntitySet<Property>('Property');
    const dear = OData.newFilter<Property>().property('ListPrice').gt(50_000).property('City').ne(null);
    const found = await set.query(
      OData.newOptions<Property>()
        .filter(dear)
        .select(['ListingKey', 'ListPrice'])
        .orderby('ListPrice', 'desc'),
    );
    assert.deepEqual(
      found.map(({ ListingKey, ListPrice }) => [ListingKey, ListPrice]),
      [
        [keyOf(52), 52_026],
        [keyOf(50), 50_025],
      ],
    );
    assert.ok(found.every(row => !('City' in row)));
    const [first] = await set.query(
      OData.newOptions<Property>().expand('Media').orderby('ListingKey', 'asc').top(1),
    );
    assert.deepEqual(
      first?.Media?.map(({ MediaKey }) => MediaKey),
      ['M106', 'M53'],
    );
    assert.equal(await set.count(), total);
    assert.equal(await set.count(OData.newFilter<Property>().property('City').eq(null)), 27);
  });

  it('fetches by key, whatever is in it, and meets an error it can read', async () => {
    const set = connect(await served()).getEntitySet<Property>('Property');
    // The client quotes a text but leaves its apostrophes and slashes to the caller.
    const written = (key: string) => encodeURIComponent(key.replaceAll("'", "''"));
    const one = await set.retrieve(written(keyOf(2)));
    assert.equal(one.City, 'São Paulo');
    await assert.rejects(set.retrieve('none'), /no such record/);
    await assert.rejects(set.query(OData.newOptions().select('Nothing')), /no property Nothing/);
  });

  it('pages to the end: by the nextLink that it is shown, by the last key, and by $skip', async () => {
    const client = connect(await served(), { Prefer: 'maxpagesize=10' });
    const all = Array.from({ length: total }, (_, index) => keyOf(index + 1));
    const linked: string[] = [];
    for (let token = '', page = 0; page === 0 || token !== ''; page += 1) {
      assert.ok(page < 10, 'the pages do not end');
      const params = OData.newOptions<Property>().select('ListingKey');
      if (token !== '') params.custom('$skiptoken', token);
      const answer = await client.newRequest<Property>({ collection: 'Property', params });
      linked.push(...(answer.value ?? []).map(({ ListingKey }) => ListingKey));
      const link = (answer as Record<string, unknown>)['@odata.nextLink'];
      token = typeof link === 'string' ? (new URL(link).searchParams.get('$skiptoken') ?? '') : '';
    }
    assert.deepEqual(linked, all);
    const set = client.getEntitySet<Property>('Property');
    const stepped: string[] = [];
    for (let page = 0; ; page += 1) {
      assert.ok(page < 10, 'the records do not end');
      const rows = await set.query(
        OData.newOptions<Property>()
          .filter(
            OData.newFilter<Property>()
              .property('ListingKey')
              .gt((stepped.at(-1) ?? '').replaceAll("'", "''")),
          )
          .orderby('ListingKey', 'asc'),
      );
      if (rows.length === 0) break;
      stepped.push(...rows.map(({ ListingKey }) => ListingKey));
    }
    assert.deepEqual(stepped, all);
    const skipped: string[] = [];
    for (let skip = 0; skip < total; skip += 10) {
      const rows = await set.query(OData.newOptions<Property>().top(10).skip(skip));
      skipped.push(...rows.map(({ ListingKey }) => ListingKey));
    }
    assert.deepEqual(skipped, all);
  });

  it('makes, changes and deletes a record, and writes in batches of both formats', async () => {
    const records = await served();
    const client = connect(records, { Authorization: `Bearer ${adminToken}` });
    const set = client.getEntitySet<Property>('Property');
    const made = await set.create({ City: 'Kyoto', ListPrice: 12.5 });
    assert.equal(made.City, 'Kyoto');
    await records.settle();
    await set.update(made.ListingKey, { ListPrice: 13 });
    assert.equal((await records.request(`/Property('${made.ListingKey}')`)).json.ListPrice, 13);
    const change = (ListPrice: number) => [
      client.newBatchRequest<Property>({
        collection: 'Property',
        method: 'PATCH',
        id: made.ListingKey,
        entity: { ListPrice },
      }),
    ];
    for (const [run, price] of [
      [() => client.execBatchRequests(change(14)), 14],
      [() => client.execBatchRequestsJson(change(15)), 15],
    ] as const) {
      const [answer] = await run();
      assert.equal(answer?.status, 204);
      assert.equal((await records.request(`/Property('${made.ListingKey}')`)).json.ListPrice, price);
    }
    await set.delete(made.ListingKey);
    await records.settle();
    assert.equal((await records.request(`/Property('${made.ListingKey}')`)).status, 404);
    const events = await records.all(
      `/EntityEvent?$filter=ResourceRecordKey eq '${made.ListingKey}'`,
      'EntityEventSequence',
    );
    assert.equal(events.length, 2);
  });
});
