import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Command, CommanderError } from 'commander';
import { loadConfig } from '../server/base/config/index.ts';
import { connect } from '../server/base/db/index.ts';
import { migrateAndPublish, openDatabase, openRuntime } from '../server/runtime.ts';
import { testDatabase } from '../testing/postgres.ts';
import { type TemporaryFolder, temporaryFolder } from '../testing/temporary-folder.ts';
import { registerSeed } from './cli.ts';
import type { SeedReport } from './index.ts';
import { emptyTables, listingResources, readLog } from './seed-fixture.ts';

describe('pulsefeed seed', () => {
  let folder: TemporaryFolder;
  before(async () => {
    folder = await temporaryFolder('seed-cli');
    await writeFile(
      join(folder.path, 'pulsefeed.config.json'),
      JSON.stringify({ resources: listingResources }),
    );
    await writeFile(join(folder.path, 'sales.csv'), 'id,date\nb,2020-01-02\na,\n');
  });
  after(() => folder.remove());

  /** Runs the verb as the program does; `captured` tells whether capture was to be installed. */
  async function run(
    url: string,
    ...args: string[]
  ): Promise<{ out: string; err: string; captured: number }> {
    const result = { out: '', err: '', captured: 0 };
    const program = new Command().exitOverride().configureOutput({
      writeOut: text => {
        result.out += text;
      },
      writeErr: text => {
        result.err += text;
      },
    });
    registerSeed(program, {
      loadConfig: flags => loadConfig({ flags, env: { DATABASE_URL: url }, cwd: folder.path }),
      openDatabase,
      openRuntime,
      migrateAndPublish,
      installCapture: async () => {
        result.captured += 1;
      },
      out: text => {
        result.out += text;
      },
      progress: { write: () => undefined },
    })
      .exitOverride()
      .copyInheritedSettings(program);
    await program.parseAsync(['seed', ...args], { from: 'user' });
    return result;
  }

  const fromSales = () => ['--from', join(folder.path, 'sales.csv'), '--resource', 'Sale', '--key', 'id'];

  async function newDatabase() {
    const database = await testDatabase();
    const db = await connect({ databaseUrl: database.url, dataDir: '' });
    await db.script(`${emptyTables}; insert into teams values (2), (1)`);
    return { ...database, db };
  }

  it('sets up an empty database, installs capture and seeds; then files, with a report as text or JSON', async () => {
    const { url, db, drop } = await newDatabase();
    const first = await run(url);
    assert.match(first.out, /^Seeded 2 records in .*\n {2}level 0 {2}Office {4}0 rows, 0 new\n/);
    assert.equal(first.captured, 1);
    const second = await run(url, ...fromSales(), '--modified', 'date', '--no-capture', '--json');
    const report = JSON.parse(second.out) as SeedReport;
    assert.deepEqual([report.seeded, report.head, second.captured], [2, '4', 0]);
    assert.match(report.notes.join(), /Capture was not installed.*pulsefeed reconcile/);
    assert.deepEqual(await readLog(db), ['Teams 1', 'Teams 2', 'Sale a', 'Sale b']);
    await db.close();
    await drop();
  });

  it('touches nothing in a dry run, capture included, and does not set up an empty database', async () => {
    const { url, db, drop } = await newDatabase();
    await assert.rejects(run(url, '--dry-run'), { code: 'EE-704' });
    await run(url);
    const dry = await run(url, '--dry-run', ...fromSales());
    assert.match(dry.out, /^Would seed 2 records\. Nothing was written\./);
    assert.match(dry.out, /The first in order:\n {2}Sale a -\n {2}Sale b -\n/);
    assert.equal(dry.captured, 0);
    assert.equal((await readLog(db)).length, 2);
    await db.close();
    await drop();
  });

  it('takes flags that make no sense together for wrong usage, exit code 2', async () => {
    const wrong: [string[], RegExp][] = [
      [['--resource', 'Sale'], /--resource is for records from a file/],
      [['--modified-format', 'yyyy'], /--modified-format is for records from a file/],
      [['--from', 'x.csv', '--key', 'id'], /--from needs --resource/],
      [['--from', 'x.csv', '--resource', 'Sale'], /--from needs --key/],
      [
        ['--from', 'x.csv', '--resource', 'Sale', '--key', 'id', '--modified-format', 'yyyy'],
        /needs --modified/,
      ],
      [['--nonsense'], /unknown option/],
    ];
    for (const [args, message] of wrong) {
      await assert.rejects(run('postgres://127.0.0.1:1/none', ...args), (error: unknown) => {
        assert.ok(error instanceof CommanderError, String(error));
        assert.match(error.message, message);
        return true;
      });
    }
    await assert.rejects(
      run(
        'postgres://127.0.0.1:1/none',
        '--from',
        'x.csv',
        '--resource',
        'Sale',
        '--key',
        'id',
        '--modified',
        'd',
        '--modified-format',
        'yyyy',
      ),
      { code: 'EE-700' },
    );
  });

  it('names file, line and column of what it refuses', async () => {
    const { url, db, drop } = await newDatabase();
    await writeFile(join(folder.path, 'bad.csv'), 'id\nok\n""\n');
    const args = ['--from', join(folder.path, 'bad.csv'), '--resource', 'Sale', '--key', 'id'];
    await assert.rejects(run(url, ...args), {
      code: 'EE-706',
      message: /bad\.csv:3:1: "id": the key is missing/,
    });
    const skipped = await run(url, ...args, '--skip-bad');
    assert.match(skipped.out, /Left out 1 records that cannot be used:\n {2}bad\.csv:3:1: /);
    await db.close();
    await drop();
  });
});
