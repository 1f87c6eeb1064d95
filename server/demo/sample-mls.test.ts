import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { embeddedFolder } from '../../testing/embedded-folder.ts';
import type { temporaryFolder } from '../../testing/temporary-folder.ts';
import { connect, type Db } from '../base/db/index.ts';
import { demoResources } from './resources.ts';
import { isPlainKey, rosterSize } from './sample-keys.ts';
import { createSample, demoSeed, type SampleOptions, sampleChunks } from './sample-mls.ts';
import { findSample } from './sample-state.ts';
import { baseTime } from './sample-time.ts';
import { type SampleRow, type SampleTable, sampleTables } from './tables.ts';

/** What creating 2,000 listings on PGlite may take; 1.6 to 3.7 s were measured, the latter on a busy machine. */
const creationLimitMs = 15_000;

const listings = 2_000;
const fields = new URL('../../../shared/data/dd-2.0-fields.json', import.meta.url);
const lookups = new URL('../../../shared/data/dd-2.0-lookups.json', import.meta.url);

function rowsOf(options: SampleOptions): Map<SampleTable, SampleRow[]> {
  const rows = new Map<SampleTable, SampleRow[]>(sampleTables.map(table => [table, []]));
  for (const chunk of sampleChunks(options)) rows.get(chunk.table)?.push(...chunk.rows);
  return rows;
}

function digest(options: SampleOptions): string {
  const hash = createHash('sha256');
  for (const chunk of sampleChunks(options)) hash.update(JSON.stringify([chunk.table, chunk.rows]));
  return hash.digest('hex');
}

describe('the sample MLS', () => {
  const rows = rowsOf({ seed: demoSeed, listings });
  const all = (table: SampleTable) => rows.get(table) ?? [];
  const keys = (table: SampleTable, column: string) => all(table).map(row => String(row[column]));

  it('is the same every time from one seed, and another from another', () => {
    const options = { seed: demoSeed, listings: 120 };
    assert.equal(digest(options), digest(options));
    assert.notEqual(digest(options), digest({ ...options, seed: demoSeed + 1 }));
  });

  it('makes a listing the same whatever was made before it', () => {
    const few = rowsOf({ seed: demoSeed, listings: 60 });
    const more = rowsOf({ seed: demoSeed, listings: 61 });
    const property = (of: typeof rows) => of.get('property')?.slice(0, 60);
    assert.deepEqual(property(few), property(more));
  });

  it('never holds more than a thousand rows for one statement', () => {
    for (const chunk of sampleChunks({ seed: demoSeed, listings: 600 })) {
      assert.ok(chunk.rows.length <= 1_000, chunk.table);
    }
  });

  it('has no two records with one key', () => {
    for (const { name, key = '' } of demoResources) {
      const table = name === 'OpenHouse' ? 'open_house' : (name.toLowerCase() as SampleTable);
      assert.equal(new Set(keys(table, key)).size, all(table).length, name);
      assert.ok(all(table).length > 0, name);
    }
  });

  it('has keys with the characters that are special somewhere, and mostly plain ones', () => {
    const listingKeys = keys('property', 'ListingKey');
    for (const character of ["'", '/', ' ', '+', '%', 'Ü', '物', '&', '"', '?', '#']) {
      assert.ok(
        listingKeys.some(key => key.includes(character)),
        character,
      );
      assert.ok(
        keys('media', 'MediaKey').some(key => key.includes(character)),
        character,
      );
    }
    assert.ok(listingKeys.filter(isPlainKey).length > listings * 0.95);
    assert.ok(!keys('office', 'OfficeKey').every(isPlainKey));
    assert.ok(!keys('member', 'MemberKey').every(isPlainKey));
  });

  it('has names with quotes, ampersands, slashes and letters of several scripts', () => {
    const names = [...keys('office', 'OfficeName'), ...keys('member', 'MemberFullName')].join('\n');
    for (const character of ['"', "'", '&', '/', '<', '%', '+', 'ü', 'ñ', 'Н', '青', 'ễ']) {
      assert.ok(names.includes(character), character);
    }
  });

  it('has each listing with an agent of its office, and statuses as on a market', () => {
    const officeOf = new Map(all('member').map(row => [row.MemberKey, row.OfficeKey]));
    const statuses = new Map<unknown, number>();
    for (const row of all('property')) {
      assert.equal(row.ListOfficeKey, officeOf.get(row.ListAgentKey ?? ''));
      statuses.set(row.StandardStatus, (statuses.get(row.StandardStatus) ?? 0) + 1);
    }
    const share = (status: string) => (statuses.get(status) ?? 0) / listings;
    assert.ok(share('Active') > 0.3 && share('Active') < 0.5);
    assert.ok(share('Closed') > 0.2 && share('Closed') < 0.4);
    assert.equal(statuses.size, 9);
  });

  it('has prices that fit size and place', () => {
    const perFoot = (city: string) => {
      const prices = all('property')
        .filter(row => row.City === city && row.PropertySubType === 'Single Family Residence')
        .map(row => Number(row.ListPrice) / Number(row.LivingArea))
        .sort((a, b) => a - b);
      return prices[Math.floor(prices.length / 2)] ?? 0;
    };
    assert.ok(perFoot('Bellevue') > 1.5 * perFoot('Kent'));
    for (const row of all('property')) {
      if (row.LivingArea === null) continue;
      const price = Number(row.ListPrice) / Number(row.LivingArea);
      assert.ok(price > 60 && price < 1_500, `${String(row.ListingKey)}: ${price} a square foot`);
    }
  });

  it('has from 1 to 12 photos for each listing, counted right', () => {
    const photos = new Map<unknown, number>();
    for (const row of all('media')) {
      photos.set(row.ResourceRecordKey, (photos.get(row.ResourceRecordKey) ?? 0) + 1);
    }
    for (const row of all('property')) {
      assert.equal(photos.get(row.ListingKey), row.PhotosCount);
      assert.ok(Number(row.PhotosCount) >= 1 && Number(row.PhotosCount) <= 12);
    }
  });

  it('has events in their order, none after the moment at which it was taken', () => {
    const base = baseTime.toISOString();
    for (const row of all('property')) {
      const times = [row.OriginalEntryTimestamp, row.ModificationTimestamp, base].map(String);
      assert.deepEqual(times, [...times].sort(), String(row.ListingKey));
      const dates = [row.ListingContractDate, row.PurchaseContractDate, row.CloseDate].filter(
        date => date !== null,
      );
      assert.deepEqual(dates, [...dates].sort(), String(row.ListingKey));
    }
  });

  it('grows offices and members with the listings', () => {
    assert.deepEqual(rosterSize(20), { offices: 8, members: 16 });
    assert.deepEqual(rosterSize(100_000), { offices: 1_818, members: 7_143 });
  });

  if (existsSync(fields) && existsSync(lookups)) {
    it('has values of the Data Dictionary in lookup fields that are closed', () => {
      const known = JSON.parse(readFileSync(lookups, 'utf8')) as Record<string, unknown>;
      const values = (known.lookups ?? known) as Record<string, string[]>;
      const checked = {
        StandardStatus: 'StandardStatus',
        PropertyType: 'PropertyType',
        PropertySubType: 'PropertySubType',
        Appliances: 'Appliances',
        Heating: 'Heating',
        Cooling: 'Cooling',
        Flooring: 'Flooring',
        View: 'View',
        MajorChangeType: 'ChangeType',
      };
      for (const row of all('property')) {
        for (const [field, lookup] of Object.entries(checked)) {
          for (const value of [row[field] ?? []].flat()) {
            assert.ok(values[lookup]?.includes(String(value)), `${field}: ${String(value)}`);
          }
        }
      }
    });
  }
});

describe('the sample MLS in the embedded database', function () {
  this.timeout(90_000);
  let db: Db;
  let folder: Awaited<ReturnType<typeof temporaryFolder>>;

  before(async () => {
    folder = await embeddedFolder('sample');
    db = await connect({ dataDir: folder.path });
  });
  after(async () => {
    await db.close();
    await folder.remove();
  });

  it('is not left behind in part when it is stopped on the way', async () => {
    const stop = new AbortController();
    const tell = (done: number) => {
      if (done > 0) stop.abort(new Error('stopped'));
    };
    await assert.rejects(createSample(db, { seed: 1, listings: 600 }, tell, stop.signal), /stopped/);
    assert.deepEqual(await findSample(db), { kind: 'none' });
  });

  it('is not made over tables of somebody else', async () => {
    await db.script('create table public.media (a integer)');
    assert.deepEqual(await findSample(db), { kind: 'foreign', what: 'a table public.media' });
    await assert.rejects(createSample(db, { seed: 1, listings: 20 }), /already exists/);
    await db.script('drop table public.media');
  });

  it(`is made with 2,000 listings within ${creationLimitMs / 1_000} s`, async () => {
    const told: number[] = [];
    const startedAt = performance.now();
    const state = await createSample(db, { seed: demoSeed, listings }, done => told.push(done));
    assert.ok(performance.now() - startedAt < creationLimitMs);
    assert.deepEqual(state, { seed: demoSeed, listings, nextListing: listings, edits: 0 });
    assert.deepEqual(await findSample(db), { kind: 'sample', state });
    assert.equal(told.at(-1), listings);
    const [count] = await db.query<{ count: bigint }>({ text: 'select count(*) from public.property' });
    assert.equal(count?.count, BigInt(listings));
  });

  it('keeps each value as it was made', async () => {
    const wanted = rowsOf({ seed: demoSeed, listings }).get('property')?.[7];
    const [found] = await db.query<{ row: SampleRow }>({
      text: `select row_to_json(p) as row from public.property p where "ListingKey" = $1`,
      values: [String(wanted?.ListingKey)],
    });
    for (const [name, value] of Object.entries(wanted ?? {})) {
      const same = name.endsWith('Timestamp')
        ? new Date(String(found?.row[name])).toISOString()
        : found?.row[name];
      assert.deepEqual(same, value, name);
    }
  });

  it('has every child with its parent, checked by references that delete along with the listing', async () => {
    const found = await db.query<{ child: string; cascades: boolean; valid: boolean }>({
      text: `select conrelid::regclass::text as child, confdeltype = 'c' as cascades, convalidated as valid
        from pg_constraint where contype = 'f' and confrelid = 'public.property'::regclass order by 1`,
    });
    assert.deepEqual(found, [
      { child: 'media', cascades: true, valid: true },
      { child: 'open_house', cascades: true, valid: true },
    ]);
  });

  it('has an index on every referencing column', async () => {
    const missing = await db.query({
      text: `select conrelid::regclass, conkey from pg_constraint c where contype = 'f' and not exists
        (select from pg_index i where i.indrelid = c.conrelid and i.indkey[0] = c.conkey[1])`,
    });
    assert.deepEqual(missing, []);
    const [found] = await db.query<{ count: number }>({
      text: `select count(*)::int as count from pg_constraint where contype = 'f'`,
    });
    assert.equal(found?.count, 9);
  });

  if (existsSync(fields)) {
    it(`has only fields of the Data Dictionary (${fileURLToPath(fields).split('/').at(-1)})`, async () => {
      const dictionary = JSON.parse(readFileSync(fields, 'utf8')) as {
        resources: Record<string, { name: string }[]>;
      };
      for (const { name, table = '' } of demoResources) {
        const known = new Set(dictionary.resources[name]?.map(field => field.name));
        const columns = await db.query<{ name: string }>({
          text: `select attname as name from pg_attribute where attrelid = $1::regclass and attnum > 0`,
          values: [table],
        });
        assert.deepEqual(
          columns.map(column => column.name).filter(column => !known.has(column)),
          [],
          name,
        );
      }
    });
  }
});
