import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { cp, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import type { Db } from '../server/base/db/index.ts';
import { installCapture } from '../server/capture/index.ts';
import type { Runtime } from '../server/runtime.ts';
import { embeddedFolder } from '../testing/embedded-folder.ts';
import { testDatabase } from '../testing/postgres.ts';
import { seededRandom } from '../testing/seeded-random.ts';
import { type TemporaryFolder, temporaryFolder } from '../testing/temporary-folder.ts';
import type { FileSource } from './file-source.ts';
import { seed } from './index.ts';
import { emptyTables, readLog, type Target, withRuntime, withRuntimeSetUp } from './seed-fixture.ts';
import { runAndKill, seedInChild } from './seed-kill.ts';

/** How often a seeding process is killed on each engine; `npm run torture` raises it. */
const kills = Number(process.env.PULSEFEED_TORTURE ?? 1);

const sample: FileSource = {
  path: fileURLToPath(new URL('./samples/hafenviertel-sales.csv', import.meta.url)),
  resource: 'Sale',
  key: ['SaleNo'],
  modified: 'Sold',
  modifiedFormat: 'dd/MM/yyyy',
};

/** Worked out by hand: none first, then by day and key; of two entries with one number the later. */
const sampleOrder = [
  ...['H-1004', 'H-1011', 'H-1007', 'H-1008', 'H-1003', 'H-1009'],
  ...['H-1010', 'h-1010', 'H-1005', 'H-1006', 'H-1001', 'H-1002'],
].map(key => `Sale ${key}`);

interface Fresh extends Target {
  readonly drop: () => Promise<void>;
}

/** Module state: an embedded database takes seconds to make and a tenth of that to copy. */
const embedded: { made: Promise<TemporaryFolder> | undefined } = { made: undefined };

function embeddedTemplate(): Promise<TemporaryFolder> {
  embedded.made ??= embeddedFolder('file-seed-template').then(async folder => {
    await setUp({ dataDir: folder.path });
    return folder;
  });
  return embedded.made;
}

/** Where the tests below run; the embedded database has to keep the same promises. */
const engines: Readonly<Record<'PostgreSQL' | 'PGlite', () => Promise<Fresh>>> = {
  PostgreSQL: async () => {
    const { url, drop } = await testDatabase({
      template: base => setUp({ databaseUrl: base, dataDir: '' }),
      name: 'file-seed',
    });
    return { databaseUrl: url, dataDir: '', drop };
  },
  PGlite: async () => {
    const folder = await temporaryFolder('file-seed');
    await cp((await embeddedTemplate()).path, folder.path, { recursive: true });
    return { dataDir: folder.path, drop: () => folder.remove() };
  },
};

function setUp(target: Target): Promise<void> {
  return withRuntimeSetUp(target, db => db.script(emptyTables));
}

/** Rows that the log holds in any of its tables. */
async function written(db: Pick<Db, 'query'>): Promise<number> {
  const [row] = await db.query<{ written: number }>({
    text: `select ((select count(*) from pulsefeed.seed_entry) + (select count(*) from pulsefeed.record_state)
      + (select count(*) from pulsefeed.entity_event) + (select count(*) from pulsefeed.record_change)
      + (select count(*) from property))::int as written`,
  });
  return row?.written ?? -1;
}

for (const [engine, create] of Object.entries(engines)) {
  describe(`seeding from a file on ${engine}`, () => {
    let folder: TemporaryFolder;
    before(async () => {
      folder = await temporaryFolder('seed-input');
    });
    after(async () => {
      await folder.remove();
      await (await embedded.made)?.remove();
      embedded.made = undefined;
    });

    async function file(name: string, content: string | Uint8Array): Promise<string> {
      const path = join(folder.path, name);
      await writeFile(path, content);
      return path;
    }

    /** Runs `work` on a database of its own. */
    async function on(work: (runtime: Runtime, target: Target) => Promise<void>): Promise<void> {
      const { drop, ...target } = await create();
      await withRuntime(target, runtime => work(runtime, target));
      await drop();
    }

    it('numbers the sample in its order, the newest of two entries, on every empty database alike', async () => {
      for (let run = 0; run < 2; run += 1) {
        await on(async runtime => {
          const report = await seed(runtime, { file: sample, chunkSize: run === 0 ? 5 : 1_000 });
          assert.deepEqual(await readLog(runtime.db), sampleOrder);
          const [sales] = report.resources;
          assert.deepEqual([sales?.rows, sales?.duplicates, sales?.fresh, report.seeded], [14, 2, 12, 12]);
        });
      }
    });

    it('writes nothing of a file with one fault, and all but that with skipBad', async () => {
      const path = await file('faulty.csv', 'id,date\n1,2020-01-01\n2,2020-02-30\n3,2020-01-02\n');
      const source: FileSource = { path, resource: 'Sale', key: ['id'], modified: 'date' };
      await on(async runtime => {
        await assert.rejects(seed(runtime, { file: source }), {
          code: 'EE-706',
          message: 'Nothing was written.\nfaulty.csv:3:3: "date": "2020-02-30" is not a date of this form',
        });
        assert.equal(await written(runtime.db), 0);
        const badFile = join(folder.path, 'bad.ndjson');
        const report = await seed(runtime, { file: source, skipBad: true, badFile });
        assert.deepEqual(await readLog(runtime.db), ['Sale 1', 'Sale 3']);
        assert.equal(report.bad.count, 1);
        assert.deepEqual([report.bad.first[0]?.line, report.bad.first[0]?.column], [3, 3]);
        assert.equal(JSON.parse(await readFile(badFile, 'utf8')).record, '2,2020-02-30');
      });
    });

    it('loads the records into the table by column name, with one event each under capture', async () => {
      await on(async runtime => {
        await installCapture(runtime.db, runtime.tables);
        await runtime.db.script(
          `insert into property ("ListingKey", "ListPrice") values ('Speicherweg~11', 1)`,
        );
        const source: FileSource = {
          ...sample,
          resource: 'Property',
          key: ['Street', 'HouseNo'],
          load: 'property',
        };
        const report = await seed(runtime, { file: source });
        // 14 rows, of which three addresses are there twice, and one was in the table.
        assert.deepEqual([report.seeded, report.loaded?.rows, report.resources[0]?.duplicates], [11, 10, 3]);
        const rows = await runtime.db.query<{ row: string }>({
          text: `select concat_ws('|', "ListingKey", "ListOfficeKey", "ListPrice", ("ModificationTimestamp" at time zone 'UTC')::date) as row
            from property order by "ListingKey" collate "C" limit 4`,
        });
        assert.deepEqual(
          rows.map(({ row }) => row),
          [
            'Am Deich~100|O2|99000.00|1999-05-05',
            'Kai am Sandtor~4|O1|412000.00|2021-03-17',
            'Kai am Sandtor~6a|O1|389500.00|2021-03-17',
            "O'Connell Quay~7|O5|640000.00|2020-12-31",
          ],
        );
        const [reduced] = await runtime.db.query<{ price: string; old: string }>({
          text: `select (select "ListPrice"::text from property where "ListingKey" = 'Rue des Épices~2') as price,
            (select "ListPrice"::text from property where "ListingKey" = 'Speicherweg~11') as old`,
        });
        assert.deepEqual(reduced, { price: '1190000.00', old: '1.00' });
        // The row that was there before is still told by capture; those that were loaded are not told twice.
        const sequencer = runtime.sequencer();
        for (let steps = 0; steps < 10 && (await sequencer.step()).kind !== 'idle'; steps += 1);
        await sequencer.close();
        const log = await readLog(runtime.db);
        assert.deepEqual(log.slice(11), ['Property Speicherweg~11']);
        assert.equal(new Set(log).size, 11);
        const again = await seed(runtime, { file: source });
        assert.deepEqual([again.seeded, again.loaded?.rows], [0, 0]);
      });
    });

    it('loses and doubles nothing of a file when its process is killed', async function () {
      this.timeout(20_000 * (kills + 1));
      const keys = Array.from({ length: 2_000 }, (_, n) => `K${(n * 7919) % 2_000}`);
      const path = await file('killed.csv', `ListingKey\n${keys.join('\n')}\n`);
      const source: FileSource = { path, resource: 'Property', key: ['ListingKey'], load: 'property' };
      const random = seededRandom();
      const { drop, ...target } = await create();
      await withRuntime(target, runtime => installCapture(runtime.db, runtime.tables));
      for (let kill = 0; kill < kills; kill += 1) {
        await runAndKill(target, 100, kill === 0 ? 2 : 3 + random.below(20), source);
      }
      await seedInChild(target, 100, source);
      await withRuntime(target, async ({ db }) => {
        const expected = keys.toSorted().map(key => `Property ${key}`);
        assert.deepEqual(await readLog(db), expected, random.seed);
        assert.equal((await db.query({ text: 'select from property' })).length, 2_000, random.seed);
      });
      await drop();
    });

    // What follows differs in nothing between the engines, and the embedded one is slow to start.
    if (engine === 'PGlite') return;

    it('reads JSON lines and compressed files to the same log', async () => {
      const rows = [
        { SaleNo: 'b', Sold: '2020-01-01' },
        { SaleNo: 'a', Sold: '2020-01-01' },
        { SaleNo: 7, Sold: null },
        { SaleNo: 'c', Sold: '2019-12-31T23:59:59.5+00:00' },
      ];
      const path = await file('sales.ndjson.gz', gzipSync(rows.map(row => JSON.stringify(row)).join('\n')));
      await on(async runtime => {
        await seed(runtime, { file: { path, resource: 'Sale', key: ['SaleNo'], modified: 'Sold' } });
        assert.deepEqual(await readLog(runtime.db), ['Sale 7', 'Sale c', 'Sale a', 'Sale b']);
      });
    });

    it('seeds only new records when a longer file is read later', async () => {
      const short = await file('short.csv', 'id\nb\na\n');
      const long = await file('long.csv', 'id\nd\nb\nc\na\n');
      await on(async runtime => {
        const from = (path: string): FileSource => ({ path, resource: 'Sale', key: ['id'] });
        await seed(runtime, { file: from(short) });
        const report = await seed(runtime, { file: from(long) });
        assert.equal(report.seeded, 2);
        assert.deepEqual(await readLog(runtime.db), ['Sale a', 'Sale b', 'Sale c', 'Sale d']);
      });
    });

    it('names the place of each value that the table does not take, and loads nothing', async () => {
      const path = await file(
        'prices.csv',
        'ListingKey,ListPrice,ListOfficeKey\n1,100,O1\n2,cheap,O1\n3,,O1\n4,99999999999,O2\n5,5,O1\n',
      );
      const source: FileSource = { path, resource: 'Property', key: ['ListingKey'], load: 'public.property' };
      await on(async runtime => {
        await assert.rejects(seed(runtime, { file: source }), (error: Error) => {
          const [, first, second, ...others] = error.message.split('\n');
          assert.match(
            first ?? '',
            /^prices\.csv:3:3: "ListPrice": invalid input syntax for type numeric: "cheap"$/,
          );
          assert.match(second ?? '', /^prices\.csv:5:3: "ListPrice": numeric field overflow$/);
          assert.deepEqual(others, []);
          return true;
        });
        assert.equal(await written(runtime.db), 0);
        const report = await seed(runtime, { file: source, skipBad: true });
        assert.deepEqual([report.bad.count, report.loaded?.rows, report.seeded], [2, 3, 3]);
      });
    });

    it('loads nothing when a constraint of the table is broken', async () => {
      const path = await file('dear.csv', 'ListingKey,ListPrice\n1,100\n2,-5\n');
      const source: FileSource = { path, resource: 'Property', key: ['ListingKey'], load: 'property' };
      await on(async runtime => {
        await runtime.db.script('alter table property add constraint dear check ("ListPrice" > 0)');
        await assert.rejects(
          seed(runtime, { file: source }),
          /EE-706|Nothing was written\. --load property: .*"dear"/,
        );
        assert.equal(await written(runtime.db), 0);
      });
    });

    it('refuses to load into a table that the resource is not read from', async () => {
      await on(async runtime => {
        const load = (resource: string, table: string) =>
          seed(runtime, { file: { ...sample, resource, load: table } });
        await assert.rejects(
          load('Property', 'office'),
          /resource Property has table property in the configuration/,
        );
        await assert.rejects(load('Sale', 'property'), /resource Sale has no table/);
        await assert.rejects(load('Property', 'nowhere'), /resource Property has table property/);
      });
    });

    it('gives no event to records that the configured table does not hold, and says so', async () => {
      const path = await file('unknown.csv', 'id\nhere\ngone\n');
      await on(async runtime => {
        await runtime.db.script(`insert into property ("ListingKey") values ('here')`);
        const report = await seed(runtime, { file: { path, resource: 'Property', key: ['id'] } });
        assert.deepEqual(await readLog(runtime.db), ['Property here']);
        assert.deepEqual([report.seeded, report.passedOver], [1, 1]);
        assert.match(report.notes.join(), /1 records of the file are not in property/);
      });
    });

    it('shows in a dry run what a file holds and writes nothing', async () => {
      await on(async runtime => {
        const report = await seed(runtime, {
          file: { ...sample, resource: 'Property', load: 'property' },
          dryRun: true,
        });
        assert.deepEqual(
          report.first.map(({ key }) => `Sale ${key}`),
          sampleOrder.slice(0, 10),
        );
        assert.deepEqual(report.first.map(({ modified }) => modified).slice(0, 2), [
          null,
          '1999-05-05T00:00:00.000000Z',
        ]);
        assert.equal(report.resources[0]?.fresh, 12);
        assert.equal(await written(runtime.db), 0);
      });
    });

    for (const shared of sharedFiles()) {
      it(`seeds ${shared.name} with as many records as an independent count finds, twice alike`, async function () {
        this.timeout(60_000);
        const { records, keys } = await naiveCount(shared);
        let first: string[] | undefined;
        for (let run = 0; run < 2; run += 1) {
          await on(async runtime => {
            const report = await seed(runtime, { file: shared });
            const [found] = report.resources;
            assert.deepEqual(
              [found?.rows, report.seeded, found?.duplicates],
              [records, keys, records - keys],
            );
            const log = await readLog(runtime.db);
            assert.equal(new Set(log).size, keys);
            first ??= log;
            assert.deepEqual(log, first);
          });
        }
      });
    }
  });
}

/** Real sales, where they lie beside the repository. */
function sharedFiles(): (FileSource & { name: string })[] {
  const files = [
    { name: 'king-county-sales.csv', key: ['id'], modified: 'date', modifiedFormat: `yyyyMMdd'T'HHmmss` },
    {
      name: 'melbourne-sales.csv',
      key: ['Suburb', 'Address', 'Date'],
      modified: 'Date',
      modifiedFormat: 'dd/MM/yy',
    },
  ];
  return files
    .map(file => ({
      ...file,
      resource: 'Sale',
      path: fileURLToPath(new URL(`../../shared/data/${file.name}`, import.meta.url)),
    }))
    .filter(({ path }) => existsSync(path));
}

/** Counts lines and distinct keys by splitting at commas, which is right for files without quotes. */
async function naiveCount(source: FileSource): Promise<{ records: number; keys: number }> {
  const text = await readFile(source.path, 'utf8');
  assert.ok(!text.includes('"'), 'this count is for files without quotes');
  const [header = '', ...lines] = text.split('\n').filter(line => line !== '');
  const columns = source.key.map(name => header.split(',').indexOf(name));
  const keys = new Set(lines.map(line => columns.map(column => line.split(',')[column]).join('\t')));
  return { records: lines.length, keys: keys.size };
}
