import assert from 'node:assert/strict';
import type { ResourceConfig } from '../base/config/index.ts';
import { type ServedRecords, serveRecords } from './cases/served-records.ts';

const tables = `
create table office (office_key text primary key, office_name varchar(50), main_office_key text, secret text);
create table property (
  listing_key varchar(40) primary key, list_price numeric(14,2), list_office_key text, standard_status text,
  "Weird Column" integer, modification_timestamp timestamptz(3)
);
create table media (media_key integer primary key, resource_record_key text, "Order" integer, media_url text);
insert into office values ('O1', 'One', null, 's1'), ('O2', 'Two', 'O1', 's2');
insert into property values
  ('L1', 100, 'O1', 'Active', 1, '2024-01-01Z'), ('L2', 200, 'O2', 'Pending', 2, '2024-01-02Z'),
  ('L3', 300, null, 'Active', null, null), ('it''s/50%+ü', 400, 'O2', 'Active', null, null);
insert into media select n, 'L' || (1 + n % 2), n, 'http://m/' || n from generate_series(1, 10) n;
insert into media values (77, 'it''s/50%+ü', 1, 'http://m/odd');
`;

const resources: readonly ResourceConfig[] = [
  {
    name: 'Office',
    table: 'office',
    key: 'office_key',
    fields: { secret: false },
    parents: [{ resource: 'Office', column: 'main_office_key' }],
  },
  {
    name: 'Property',
    table: 'property',
    key: 'listing_key',
    fields: { 'Weird Column': 'Odd' },
    parents: [{ resource: 'Office', column: 'list_office_key', children: 'Listings' }],
  },
  {
    name: 'Media',
    table: 'media',
    key: 'media_key',
    parents: [{ resource: 'Property', column: 'resource_record_key' }],
  },
];

const open = async (): Promise<ServedRecords> => {
  const served = await serveRecords(tables, resources);
  await served.settle();
  return served;
};

describe('relations of records over HTTP', () => {
  it('names fields and relations after the Data Dictionary, in XML and JSON', async () => {
    const { request } = await open();
    const { text } = await request('/$metadata');
    assert.match(
      text,
      /<Property Name="ListPrice" Type="Edm.Decimal" Nullable="true" Precision="14" Scale="2"/,
    );
    assert.match(text, /Name="StandardStatus"[^>]*MaxLength="25"/);
    assert.match(text, /Term="RESO.OData.Metadata.LookupName" String="StandardStatus"/);
    assert.match(text, /<NavigationProperty Name="ListOffice" Type="org.reso.metadata.Office"/);
    assert.match(text, /<NavigationProperty Name="Listings" Type="Collection\(org.reso.metadata.Property\)"/);
    assert.match(text, /<NavigationProperty Name="OfficeByMainOffice"/);
    assert.ok(!text.includes('secret'));
    const { json } = await request('/$metadata?$format=json');
    const schema = json['org.reso.metadata'] as Record<string, Record<string, unknown>>;
    assert.deepEqual(schema.Property?.Odd, { $Type: 'Edm.Int32', $Nullable: true });
    assert.deepEqual(schema.Media?.Property, {
      $Kind: 'NavigationProperty',
      $Type: 'org.reso.metadata.Property',
      $Nullable: true,
    });
  });

  it('expands children and parents with their own options, several levels deep', async () => {
    const { request } = await open();
    const path =
      "/Property?$select=ListingKey&$filter=ListingKey in ('L1','L2','L3')&$expand=ListOffice($select=OfficeName;$expand=MainOffice($select=OfficeKey)),Media($top=2;$skip=1;$count=true;$orderby=Order desc;$select=MediaKey;$filter=Order gt 2)";
    const accept = { Accept: 'application/json;odata.metadata=none' };
    const { status, text, json } = await request(path, { headers: accept });
    assert.equal(status, 200, text);
    assert.deepEqual(json.value, [
      {
        ListingKey: 'L1',
        ListOffice: { OfficeName: 'One', MainOffice: null },
        'Media@odata.count': 4,
        Media: [{ MediaKey: 8 }, { MediaKey: 6 }],
      },
      {
        ListingKey: 'L2',
        ListOffice: { OfficeName: 'Two', MainOffice: { OfficeKey: 'O1' } },
        'Media@odata.count': 4,
        Media: [{ MediaKey: 7 }, { MediaKey: 5 }],
      },
      { ListingKey: 'L3', ListOffice: null, 'Media@odata.count': 0, Media: [] },
    ]);
  });

  it('follows relations in paths and filters', async () => {
    const { request, all } = await open();
    const hard = `/Property('it''s%2F50%25+%C3%BC')`;
    assert.deepEqual(await all(`${hard}/Media`, 'MediaKey'), [77]);
    assert.equal((await request("/Property('L1')/Media/$count")).text, '5');
    assert.equal((await request("/Property('L1')/Media/$count?$filter=Order gt 4")).text, '3');
    const office = await request("/Property('L2')/ListOffice");
    assert.equal(office.json.OfficeKey, 'O2', office.text);
    assert.equal((await request("/Property('L2')/ListOffice/OfficeName/$value")).text, 'Two');
    assert.deepEqual(await all("/Property('L2')/ListOffice/Listings", 'ListingKey'), ["it's/50%+ü", 'L2']);
    assert.equal((await request("/Property('L1')/Media(2)/MediaURL/$value")).text, 'http://m/2');
    assert.equal((await request("/Property('L1')/Media(3)")).status, 404);
    assert.equal((await request("/Property('L3')/ListOffice")).status, 204);
    assert.equal((await request("/Property('none')/Media")).status, 404);
    assert.deepEqual(await all("/Property?$filter=ListOffice/OfficeName eq 'One'", 'ListingKey'), ['L1']);
    assert.deepEqual(await all('/Property?$filter=Media/any(m:m/Order eq 3)', 'ListingKey'), ['L2']);
    assert.deepEqual(await all('/Property?$orderby=ListOffice/OfficeName desc,ListingKey', 'ListingKey'), [
      "it's/50%+ü",
      'L2',
      'L1',
      'L3',
    ]);
  });

  it('goes through the pages of a related collection', async () => {
    const { request } = await open();
    const found: unknown[] = [];
    let next = "/Property('L1')/Media?$orderby=Order desc";
    for (let page = 0; page < 5 && next !== ''; page += 1) {
      const { json } = await request(next, { headers: { Prefer: 'maxpagesize=2' } });
      found.push(...json.value.map(row => row.MediaKey));
      next = (json['@odata.nextLink'] as string | undefined) ?? '';
    }
    assert.deepEqual(found, [10, 8, 6, 4, 2]);
  });

  it('refuses what a relation cannot do', async () => {
    const { request } = await open();
    const status = async (path: string) => (await request(path)).status;
    assert.equal(await status('/Property?$expand=Nothing'), 400);
    assert.equal(await status('/Property?$expand=ListPrice'), 400);
    assert.equal(await status('/Property?$expand=Media,Media'), 400);
    assert.equal(await status('/Property?$expand=ListOffice($top=1)'), 400);
    assert.equal(await status('/EntityEvent?$expand=Property'), 400);
    assert.equal(await status('/EntityEvent?$expand=*'), 200);
    const deep =
      '/Office?$expand=MainOffice($expand=MainOffice($expand=MainOffice($expand=MainOffice($expand=MainOffice))))';
    assert.equal(await status(deep), 400);
  });

  it('leaves nulls out where it is asked, in expanded records too', async () => {
    const { request } = await open();
    const { json, headers } = await request("/Property('L3')?$select=Odd&$expand=ListOffice,Media", {
      headers: { Prefer: 'omit-values=nulls', Accept: 'application/json;odata.metadata=none' },
    });
    assert.equal(headers.get('preference-applied'), 'omit-values=nulls');
    assert.deepEqual(json, { Media: [] });
  });
});
