import assert from 'node:assert/strict';
import type { ResourceConfig } from '../base/config/index.ts';
import { adminToken, serveRecords } from './cases/served-records.ts';

const tables = `
create table region (region_key text primary key);
create table office (
  office_key text primary key, open boolean not null, areas text[] not null, area text, region_key text
);
create table property (listing_key text primary key, list_price integer, status text, list_office_key text, secret text);
create table media (media_key integer primary key, listing_key text, private boolean not null);
insert into region values ('R1'), ('R2');
insert into office values ('O1', true, '{x,y}', 'x', 'R1'), ('O2', false, '{x}', 'x', 'R1'), ('O3', true, '{y}', 'x', 'R2');
insert into property
select 'L' || n, n, case when n % 2 = 0 then 'Active' else 'Hidden' end, 'O' || (1 + n % 3), 's' || n
from generate_series(1, 12) n;
insert into media select n, 'L' || (1 + n % 12), n % 5 = 0 from generate_series(1, 48) n;
`;

const resources: readonly ResourceConfig[] = [
  { name: 'Region', table: 'region', key: 'region_key' },
  {
    name: 'Office',
    table: 'office',
    key: 'office_key',
    parents: [{ resource: 'Region', column: 'region_key' }],
  },
  {
    name: 'Property',
    table: 'property',
    key: 'listing_key',
    fields: { secret: false },
    writable: true,
    parents: [{ resource: 'Office', column: 'list_office_key' }],
  },
  {
    name: 'Media',
    table: 'media',
    key: 'media_key',
    parents: [{ resource: 'Property', column: 'listing_key' }],
  },
];

/** O1 alone is seen: the rule of offices goes over an array, whose elements it compares with the office's own area. */
const feeds = {
  idx: {
    Region: true,
    Office: 'open eq true and areas/any(a:a eq area)',
    Property: "status eq 'Active' and secret ne 's12'",
    Media: { inherit: 'Property', where: 'private eq false' },
  },
  all: { '*': true },
} as const;

const active = (n: number) => n % 2 === 0 && n !== 12;
const numbers = (upTo: number) => Array.from({ length: upTo }, (_, index) => index + 1);
const seenMedia = numbers(48).filter(n => active(1 + (n % 12)) && n % 5 !== 0);
const seenListings = numbers(12)
  .filter(active)
  .map(n => `L${n}`)
  .sort();

describe('records that a consumer may not see', () => {
  it('are in no list, count, expansion, path, filter or order', async () => {
    const { request, all, consumer, settle } = await serveRecords(tables, resources, { feeds });
    await settle();
    const token = await consumer('site', ['idx']);
    const get = (path: string) => request(path, { token });
    assert.equal((await request('/Property')).status, 401);
    assert.deepEqual(await all('/Property', 'ListingKey', token), seenListings);
    assert.equal((await get('/Property/$count')).text, String(seenListings.length));
    assert.equal((await get('/Property?$count=true&$top=1')).json['@odata.count'], seenListings.length);
    assert.deepEqual(await all('/Office', 'OfficeKey', token), ['O1']);
    assert.deepEqual(await all('/Media', 'MediaKey', token), seenMedia);

    const hidden = await get("/Property('L1')");
    assert.equal(hidden.status, 404);
    assert.equal(hidden.text, (await get("/Property('never')")).text);
    for (const path of ['/Media', '/Media/$count', '/ListOffice', '/ListPrice', '/Media(12)']) {
      assert.equal((await get(`/Property('L1')${path}`)).status, 404, path);
    }

    const expanded = await get('/Property?$expand=Media($count=true;$select=MediaKey),ListOffice');
    assert.equal(expanded.status, 200, expanded.text);
    for (const row of expanded.json.value) {
      const n = Number(row.ListPrice);
      const expected = seenMedia.filter(m => 1 + (m % 12) === n);
      assert.deepEqual(
        (row.Media as { MediaKey: number }[]).map(m => m.MediaKey),
        expected,
      );
      assert.equal(row['Media@odata.count'], expected.length);
      assert.equal(
        (row.ListOffice as { OfficeKey: string } | null)?.OfficeKey,
        n % 3 === 0 ? 'O1' : undefined,
      );
    }
    const back = await get("/Office('O1')?$expand=Property($expand=Media,ListOffice)");
    assert.deepEqual(
      (back.json.Property as { ListingKey: string }[]).map(row => row.ListingKey),
      ['L6'],
    );
    assert.equal((await get("/Property('L2')/ListOffice")).status, 204);
    assert.equal((await get("/Property('L2')/ListOffice/OfficeKey")).status, 404);
    assert.equal((await get("/Property('L6')/ListOffice")).status, 200);

    const filtered = (filter: string) =>
      all(`/Property?$filter=${encodeURIComponent(filter)}`, 'ListingKey', token);
    assert.deepEqual(await filtered('ListOffice/OfficeKey ne null'), ['L6']);
    assert.deepEqual(await filtered('ListOffice/Property/any(p:p/ListPrice eq 3)'), []);
    assert.deepEqual(await filtered('Media/any(m:m/private)'), []);
    assert.deepEqual(await filtered('Media/$count eq 0'), []);
    assert.deepEqual(await all('/Region?$filter=Office/any()', 'region_key', token), ['R1']);
    assert.deepEqual(await all('/Region?$filter=Office/any(o:o/open)', 'region_key', token), ['R1']);
    assert.equal((await get("/Property?$filter=secret eq 's2'")).status, 400);
    assert.equal((await get('/Property?$select=secret')).status, 400);

    const wide = await consumer('board', ['all']);
    assert.equal((await all('/Property', 'ListingKey', wide)).length, 12);
    assert.equal((await all('/Media', 'MediaKey', wide)).length, 48);
  });

  it('cannot be changed or deleted, and answer as if they were not there', async () => {
    const { request, consumer, settle, script } = await serveRecords(tables, resources, { feeds });
    await settle();
    const token = await consumer('editor', ['idx'], ['read', 'write']);
    const reader = await consumer('reader', ['idx']);
    const change = (key: string, method: string, by = token) =>
      request(`/Property('${key}')`, { method, token: by, body: { ListPrice: 1 } });
    const hidden = await change('L1', 'PATCH');
    assert.equal(hidden.status, 404);
    assert.equal(hidden.text, (await change('never', 'PATCH')).text);
    assert.equal((await change('L1', 'PUT')).status, 404);
    assert.equal((await change('L1', 'DELETE')).status, 404);
    assert.equal((await change('L2', 'PATCH', reader)).status, 403);
    assert.equal((await change('L2', 'PATCH')).status, 204);
    // A rule holds on the row as it is now, before the change has its number.
    await script(`update property set status = 'Hidden' where listing_key = 'L2'`);
    assert.equal((await change('L2', 'PATCH')).status, 404);
    assert.equal((await request("/Property('L2')", { token })).status, 404);
  });

  it('are changed and deleted by the operator, feeds or not', async () => {
    const { request, settle, all, consumer } = await serveRecords(tables, resources, { feeds });
    await settle();
    const token = adminToken;
    const change = (key: string, method: string) =>
      request(`/Property('${key}')`, { method, token, body: { ListPrice: 1, status: 'Active' } });
    assert.equal((await change('L1', 'PATCH')).status, 204);
    assert.equal((await change('L3', 'PUT')).status, 204);
    assert.equal((await change('L5', 'DELETE')).status, 204);
    assert.equal((await change('L5', 'DELETE')).status, 404);
    assert.equal((await change('never', 'PATCH')).status, 404);
    // To read, it must be a consumer as anybody.
    assert.equal((await request("/Property('L1')", { token })).status, 401);
    await settle();
    const site = await consumer('site', ['idx']);
    assert.deepEqual(await all('/Property', 'ListingKey', site), ['L1', ...seenListings, 'L3'].sort());
  });

  it('can be changed again within the change set that wrote them, and only there', async () => {
    const { request, settle, consumer, runtime } = await serveRecords(tables, resources, { feeds });
    await settle();
    const token = await consumer('editor', ['idx'], ['read', 'write']);
    let id = 0;
    const member = (method: string, url: string, body?: object) => {
      id += 1;
      const headers = { 'Content-Type': 'application/json' };
      return { id: String(id), atomicityGroup: 'g', method, url, headers, ...(body && { body }) };
    };
    const run = async (...requests: readonly object[]) => {
      const { json } = await request('/$batch', { method: 'POST', token, body: { requests } });
      return (json.responses as { status: number }[]).map(({ status }) => status);
    };
    const made = member('POST', 'Property', { ListingKey: 'N1', ListPrice: 1 });
    assert.deepEqual(
      await run(
        made,
        member('PATCH', "Property('N1')", { ListPrice: 2 }),
        member('PATCH', `$${made.id}`, { status: 'Hidden' }),
        member('PATCH', "Property('L2')", { status: 'Hidden' }),
        member('PATCH', "Property('L2')", { ListPrice: 7 }),
      ),
      [201, 204, 204, 204, 204],
    );
    const rows = await runtime.db.query<{ line: string }>({
      text: `select concat_ws(' ', listing_key, list_price, status) as line from property
        where listing_key in ('N1', 'L2') order by 1`,
    });
    assert.deepEqual(
      rows.map(({ line }) => line),
      ['L2 7 Hidden', 'N1 2 Hidden'],
    );
    const hidden = member('PATCH', "Property('L1')", { ListPrice: 9 });
    const another = member('POST', 'Property', { ListingKey: 'N2' });
    assert.deepEqual(await run(another, hidden), [424, 404]);
    assert.equal((await request("/Property('N1')", { method: 'PATCH', token, body: {} })).status, 404);
    assert.deepEqual(
      await run(
        member('POST', 'Property', { ListingKey: 'N3' }),
        member('DELETE', "Property('N3')"),
        member('PATCH', "Property('N3')", { ListPrice: 1 }),
      ),
      [424, 424, 404],
    );
  });
});
