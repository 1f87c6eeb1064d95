import assert from 'node:assert/strict';
import { validateConfigFile } from '../base/config/file.ts';
import type { ResourceConfig } from '../base/config/index.ts';
import { type ServedRecords, serveRecords, adminToken as token } from './cases/served-records.ts';

const tables = `
create table property (
  listing_key text primary key, list_price integer, city text, status text not null, secret text,
  "ModificationTimestamp" timestamp(3)
);
create table media (media_key text primary key, url text);
insert into property values ('L1', 1, 'A', 'Active', 's', '2024-01-01'), ('L2', 2, 'B', 'Hidden', 's', '2024-01-01');
insert into media values ('M1', 'u');
`;

const resources: readonly ResourceConfig[] = [
  {
    name: 'Property',
    table: 'property',
    key: 'listing_key',
    fields: { secret: false },
    history: true,
    writable: true,
  },
  { name: 'Media', table: 'media', key: 'media_key' },
];

const feeds = { idx: { Property: "status eq 'Active'" }, bbo: { '*': true } } as const;

const select = '$select=ResourceRecordKey,FieldName,PreviousValue,NewValue,EntityEventSequence';

/** What the history shows, as `seq key field: before -> after`. */
async function shown({ request }: ServedRecords, token?: string, query = ''): Promise<string[]> {
  const lines: string[] = [];
  let next: string | undefined = `/HistoryTransactional?${select}${query}`;
  while (next !== undefined) {
    const headers = { Prefer: 'maxpagesize=2' };
    const answer: Awaited<ReturnType<typeof request>> = await request(next, {
      headers,
      ...(token === undefined ? {} : { token }),
    });
    assert.equal(answer.status, 200, answer.text);
    lines.push(
      ...answer.json.value.map(
        row =>
          `${row.EntityEventSequence} ${row.ResourceRecordKey} ${row.FieldName}: ${row.PreviousValue} -> ${row.NewValue}`,
      ),
    );
    next = answer.json['@odata.nextLink'] as string | undefined;
  }
  return lines;
}

async function events({ request }: ServedRecords, token?: string): Promise<string[]> {
  const { json } = await request('/EntityEvent', token === undefined ? {} : { token });
  return json.value.map(
    row => `${row.EntityEventSequence} ${row.ResourceName as string} ${row.ResourceRecordKey as string}`,
  );
}

async function begun(options: Parameters<typeof serveRecords>[2] = {}): Promise<ServedRecords> {
  const served = await serveRecords(tables, resources, options);
  await served.settle();
  await served.script('delete from pulsefeed.history');
  return served;
}

for (const engine of ['postgres', 'pglite'] as const) {
  describe(`HistoryTransactional on ${engine}`, () => {
    it('shows a change of three fields as three rows with the number of its event, folded changes too', async function () {
      // PGlite takes seconds to start on a busy machine.
      this.timeout(120_000);
      const served = await begun(engine === 'pglite' ? { engine } : {});
      await served.script(
        `update property set list_price = 3, city = null, "ModificationTimestamp" = '2024-02-01 10:00' where listing_key = 'L2'`,
      );
      await served.script(`update property set list_price = 5 where listing_key = 'L1'`);
      await served.script(`update property set list_price = 6, secret = 't' where listing_key = 'L1'`);
      await served.script(`update media set url = 'v'`);
      assert.deepEqual(await shown(served), [], 'nothing is readable before it has its number');
      await served.settle();
      assert.deepEqual((await events(served)).slice(-3), ['4 Property L2', '5 Property L1', '6 Media M1']);
      assert.deepEqual(await shown(served), [
        '4 L2 ListPrice: 2 -> 3',
        '4 L2 City: B -> null',
        '4 L2 ModificationTimestamp: 2024-01-01T00:00:00Z -> 2024-02-01T10:00:00Z',
        '5 L1 ListPrice: 1 -> 5',
        '5 L1 ListPrice: 5 -> 6',
      ]);
      const record = await served.request("/Property('L2')");
      assert.equal(record.json.ModificationTimestamp, '2024-02-01T10:00:00Z');
      assert.deepEqual(await shown(served, undefined, '&$filter=EntityEventSequence gt 4'), [
        '5 L1 ListPrice: 1 -> 5',
        '5 L1 ListPrice: 5 -> 6',
      ]);
      assert.deepEqual(
        await shown(
          served,
          undefined,
          "&$orderby=HistoryTransactionalKey desc&$filter=FieldName eq 'ListPrice'",
        ),
        ['5 L1 ListPrice: 5 -> 6', '5 L1 ListPrice: 1 -> 5', '4 L2 ListPrice: 2 -> 3'],
      );
    });
  });
}

describe('HistoryTransactional', () => {
  it('is described in $metadata and read by key, with who changed it where the writer says so', async () => {
    const served = await begun();
    await served.script(`begin; set local pulsefeed.changed_by = 'M7';
      update property set city = 'C' where listing_key = 'L1'; commit`);
    await served.settle();
    const { json } = await served.request('/HistoryTransactional?$count=true');
    assert.equal(json['@odata.count'], 1);
    const [row] = json.value;
    assert.ok(row !== undefined);
    assert.deepEqual(
      { ...row, ModificationTimestamp: null, '@odata.etag': null },
      {
        '@odata.etag': null,
        HistoryTransactionalKey: row.HistoryTransactionalKey,
        EntityEventSequence: 4,
        ResourceName: 'Property',
        ResourceRecordKey: 'L1',
        FieldKey: 'Property.City',
        FieldName: 'City',
        PreviousValue: 'A',
        NewValue: 'C',
        ChangedByMemberKey: 'M7',
        ModificationTimestamp: null,
      },
    );
    const one = await served.request(`/HistoryTransactional('${row.HistoryTransactionalKey}')`);
    assert.equal(one.json.FieldName, 'City');
    for (const key of ['x', '0000000000000000000-0000000000000000000', '9'.repeat(19)]) {
      assert.equal((await served.request(`/HistoryTransactional('${key}')`)).status, 404, key);
    }
    assert.equal((await served.request('/HistoryTransactional/$count')).text, '1');
    assert.match((await served.request('/$metadata')).text, /EntitySet Name="HistoryTransactional"/);
    assert.equal((await served.request('/HistoryTransactional', { method: 'POST', body: '{}' })).status, 405);
    const fields = await served.request("/Field?$filter=ResourceName eq 'HistoryTransactional'&$count=true");
    assert.equal(fields.json['@odata.count'], 10);
  });

  it('keeps its name for itself', () => {
    const named = [...resources, { name: 'HistoryTransactional' }];
    assert.match(validateConfigFile({ resources: named }).faults.join(), /Property: its history would be/);
    assert.deepEqual(validateConfigFile({ resources }).faults, []);
    assert.equal(validateConfigFile({ resources: [{ name: 'Note', history: true }] }).faults.length, 1);
  });

  it('is not there unless a resource keeps one', async () => {
    const served = await serveRecords(
      tables,
      resources.map(({ history: _, ...plain }) => plain),
    );
    assert.equal((await served.request('/HistoryTransactional')).status, 404);
  });

  it('is for those who saw the record before and after, as long as they see it', async () => {
    const served = await begun({ feeds });
    const idx = await served.consumer('site', ['idx']);
    const bbo = await served.consumer('broker', ['bbo']);
    const none = await served.consumer('nobody', []);
    const change = async (set: string, key: string) => {
      await served.script(`update property set ${set} where listing_key = '${key}'`);
      await served.settle();
    };
    await change('list_price = 10', 'L1');
    await change('list_price = 20', 'L2');
    const [l1, l2] = ['4 L1 ListPrice: 1 -> 10', '5 L2 ListPrice: 2 -> 20'];
    assert.deepEqual(await shown(served, idx), [l1]);
    assert.deepEqual(await shown(served, bbo), [l1, l2]);
    assert.deepEqual(await shown(served, none), []);
    assert.equal((await served.request('/HistoryTransactional')).status, 401);
    // L2 comes into sight with a change: what it was before is told to those alone who saw it.
    await change(`status = 'Active', city = 'X'`, 'L2');
    assert.deepEqual(await shown(served, idx), [l1]);
    assert.deepEqual((await shown(served, bbo)).slice(2), [
      '6 L2 City: B -> X',
      '6 L2 status: Hidden -> Active',
    ]);
    await change('list_price = 21', 'L2');
    const later = '7 L2 ListPrice: 20 -> 21';
    assert.deepEqual(await shown(served, idx), [l1, later]);
    // L1 goes out of sight: nothing of it is left, and nothing of the time in the dark comes back with it.
    await change(`status = 'Hidden', city = 'dark'`, 'L1');
    await change(`city = 'light'`, 'L1');
    assert.deepEqual(await shown(served, idx), [later]);
    await change(`status = 'Active'`, 'L1');
    assert.deepEqual(await shown(served, idx), [l1, later]);
    assert.equal((await shown(served, bbo)).filter(line => line.includes('City: dark -> light')).length, 1);
    const hidden = (await shown(served, bbo)).findIndex(line => line.includes('dark -> light'));
    const { json } = await served.request(`/HistoryTransactional?$skip=${hidden}&$top=1`, { token: bbo });
    const key = json.value[0]?.HistoryTransactionalKey as string;
    assert.equal((await served.request(`/HistoryTransactional('${key}')`, { token: bbo })).status, 200);
    assert.equal((await served.request(`/HistoryTransactional('${key}')`, { token: idx })).status, 404);
    const count = (token: string) => served.request('/HistoryTransactional/$count', { token });
    assert.equal((await count(idx)).text, String((await shown(served, idx)).length));
  });

  it('keeps nothing of a change that nobody may read of', async () => {
    const served = await begun({ feeds: { idx: feeds.idx } });
    const idx = await served.consumer('site', ['idx']);
    const change = async (set: string) => {
      await served.script(`update property set ${set} where listing_key = 'L1'`);
      await served.settle();
    };
    await change(`status = 'Hidden', city = 'dark'`);
    await change(`city = 'light'`);
    await change(`status = 'Active'`);
    await change('list_price = 2');
    assert.deepEqual(await shown(served, idx), ['4 L1 ListPrice: 1 -> 2']);
    const [kept] = await served.runtime.db.query<{ n: number }>({
      text: 'select count(*)::int as n from pulsefeed.history',
    });
    assert.equal(kept?.n, 1);
  });

  it('goes with its record, and is written by OData writes too', async () => {
    const served = await begun();
    const patch = await served.request("/Property('L1')", { method: 'PATCH', token, body: { City: 'Y' } });
    assert.equal(patch.status, 204);
    await served.settle();
    assert.deepEqual(await shown(served), ['4 L1 City: A -> Y']);
    await served.script(`delete from property where listing_key = 'L1'`);
    await served.settle();
    assert.deepEqual(await shown(served), []);
    assert.equal((await served.request('/HistoryTransactional/$count')).text, '0');
  });
});
