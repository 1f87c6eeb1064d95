import assert from 'node:assert/strict';
import type { ResourceConfig } from '../base/config/index.ts';
import { serveRecords, adminToken as token } from './cases/served-records.ts';

describe('records of a partitioned table', () => {
  const tables = `
    create table property ("ListingKey" text, "MlsId" text, "ListPrice" integer, primary key ("ListingKey", "MlsId"))
      partition by list ("MlsId");
    create table property_a partition of property for values in ('a');
    create table property_b ("ListPrice" integer, dropped text, "MlsId" text not null, "ListingKey" text not null);
    alter table property_b drop column dropped;
    alter table property attach partition property_b for values in ('b');
  `;
  const resources: readonly ResourceConfig[] = [
    { name: 'Property', table: 'property', key: 'ListingKey', writable: true, history: true },
  ];

  it('are read and written as those of any other, whatever a partition looks like', async () => {
    const { request, settle, all, script } = await serveRecords(tables, resources);
    await script(`insert into property values ('K1', 'a', 1), ('K2', 'b', 2), ('K3', 'b', 3)`);
    await settle();
    assert.deepEqual(await all('/Property?$orderby=ListPrice desc&$top=2', 'ListingKey'), ['K3', 'K2']);
    const post = (body: object) => request('/Property', { method: 'POST', token, body });
    for (const MlsId of ['a', 'b']) {
      const made = await post({ ListingKey: `N${MlsId}`, MlsId, ListPrice: 9 });
      assert.equal(made.status, 201, made.text);
      assert.equal(made.json.ListPrice, 9);
    }
    assert.equal((await post({ ListingKey: 'X', MlsId: 'none' })).status, 400);
    await settle();
    const path = "/Property('K2')";
    const { headers } = await request(path);
    const change = (body: object, etag: string) =>
      request(path, {
        method: 'PATCH',
        token,
        body,
        headers: { 'If-Match': etag, Prefer: 'return=representation' },
      });
    const changed = await change({ ListPrice: 7 }, headers.get('etag') ?? '');
    assert.equal(changed.status, 200, changed.text);
    assert.equal((await change({ ListPrice: 8 }, headers.get('etag') ?? '')).status, 412);
    // To another partition.
    const moved = await change({ MlsId: 'a' }, changed.headers.get('etag') ?? '');
    assert.equal(moved.status, 200, moved.text);
    await settle();
    const read = await request(path);
    assert.equal(read.json.MlsId, 'a');
    assert.equal(read.headers.get('etag'), moved.headers.get('etag'));
    assert.equal((await request(path, { method: 'DELETE', token })).status, 204);
    await settle();
    assert.deepEqual(await all('/Property', 'ListingKey'), ['K1', 'K3', 'Na', 'Nb']);
    const { json } = await request("/HistoryTransactional?$filter=ResourceRecordKey eq 'Nb'&$count=true");
    assert.equal(json['@odata.count'], 3);
  });
});

describe('records of a view', () => {
  const tables = `
    create table listing (id integer primary key, price integer, office integer, gone boolean not null default false);
    create table office (id integer primary key, name text);
    create view property as
      select 'L' || l.id as "ListingKey", l.price as "ListPrice", o.name as "ListOfficeName",
        'O' || l.office as "ListOfficeKey"
      from listing l left join office o on o.id = l.office where not l.gone;
    create materialized view offices as select 'O' || id as "OfficeKey", name as "OfficeName" from office;
    insert into office values (1, 'One'), (2, 'Two');
    insert into listing select n, n * 10, 1 + n % 2 from generate_series(1, 6) n;
    refresh materialized view offices;
  `;
  const resources: readonly ResourceConfig[] = [
    { name: 'Office', table: 'offices', key: 'OfficeKey' },
    {
      name: 'Property',
      table: 'property',
      key: 'ListingKey',
      parents: [{ resource: 'Office', column: 'ListOfficeKey' }],
    },
  ];

  it('are read as those of any other, changes being reported', async () => {
    const { request, settle, all, runtime, script } = await serveRecords(tables, resources);
    const report = (op: 'upsert' | 'delete', resource: string, keys: readonly string[]) =>
      runtime.log.append(
        undefined,
        keys.map(key => ({ resource, key, op })),
      );
    await report('upsert', 'Office', ['O1', 'O2']);
    await report('upsert', 'Property', ['L1', 'L2', 'L3', 'L4', 'L5', 'L6']);
    await settle();
    assert.deepEqual(await all("/Property?$filter=ListOffice/OfficeName eq 'Two'", 'ListingKey'), [
      'L1',
      'L3',
      'L5',
    ]);
    assert.deepEqual(await all('/Property?$orderby=ListPrice desc&$top=2', 'ListingKey'), ['L6', 'L5']);
    const expanded = await request("/Office('O1')?$expand=Property($count=true;$top=1)");
    assert.equal(expanded.json['Property@odata.count'], 3);
    const before = await request("/Property('L2')");
    assert.equal(before.json.ListOfficeName, 'One');
    const etag = before.headers.get('etag') ?? '';
    assert.equal(
      (await request("/Property('L2')", { headers: { 'If-None-Match': etag } })).status,
      304,
      'the tag is a digest of the row',
    );
    await script('update listing set price = 99 where id = 2');
    assert.equal((await request("/Property('L2')", { headers: { 'If-None-Match': etag } })).status, 200);
    await script('update listing set gone = true where id = 3');
    await report('delete', 'Property', ['L3']);
    await settle();
    assert.equal((await request("/Property('L3')")).status, 404);
    assert.equal((await request('/Property/$count')).text, '5');
    assert.equal((await request("/Property('L2')", { method: 'DELETE', token })).status, 405);
  });
});

describe('records on PGlite', () => {
  it('are written, alone and in groups, each with its event', async function () {
    // PGlite takes seconds to start on a busy machine.
    this.timeout(120_000);
    const { request, settle, all } = await serveRecords(
      `create table property ("ListingKey" text primary key, "ListPrice" numeric(14,2), "Views" text[]);`,
      [{ name: 'Property', table: 'property', key: 'ListingKey', writable: true }],
      { engine: 'pglite' },
    );
    const send = (method: string, path: string, body: object) => request(path, { method, token, body });
    const made = await send('POST', '/Property', { ListPrice: 1.5, Views: ['a', 'b'] });
    assert.equal(made.status, 201, made.text);
    const key = String(made.json.ListingKey);
    await settle();
    assert.equal((await send('PATCH', `/Property('${key}')`, { ListPrice: 2 })).status, 204);
    assert.equal((await request(`/Property('${key}')`)).json.ListPrice, 2);
    const group = (id: string, method: string, url: string, body?: object) => ({
      id,
      atomicityGroup: 'g',
      method,
      url,
      headers: { 'Content-Type': 'application/json' },
      ...(body && { body }),
    });
    const requests = [
      group('1', 'POST', 'Property', { ListingKey: 'A' }),
      group('2', 'PATCH', '$1', { ListPrice: 3 }),
      group('3', 'DELETE', `Property('${key}')`),
    ];
    const batch = await send('POST', '/$batch', { requests });
    assert.deepEqual(
      (batch.json.responses as { status: number }[]).map(({ status }) => status),
      [201, 204, 204],
    );
    await settle();
    assert.deepEqual(await all('/Property', 'ListPrice'), [3]);
    assert.deepEqual(await all('/EntityEvent', 'ResourceRecordKey'), [key, 'A', key]);
  });
});
