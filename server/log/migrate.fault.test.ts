import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { pathToFileURL } from 'node:url';
import { atTestEnd } from '../../testing/cleanup.ts';
import { compiled } from '../../testing/compiled.ts';
import { type GateSession, openSession } from '../../testing/gates.ts';
import { testDatabase } from '../../testing/postgres.ts';
import { until } from '../../testing/until.ts';
import { connect, type Db, migrate, pendingMigrations } from '../base/db/index.ts';

async function emptyDatabase(): Promise<string> {
  const database = await testDatabase({ name: 'empty' });
  atTestEnd(() => database.drop());
  return database.url;
}

/** A pool of its own for each, as processes have. */
async function open(url: string): Promise<Db> {
  const db = await connect({ databaseUrl: url, dataDir: '', poolSize: 2, applicationName: 'migrator' });
  atTestEnd(() => db.close());
  return db;
}

/** Holds whoever creates a table called `name`, until the session commits. */
async function holdTable(url: string, name: string): Promise<GateSession> {
  const keeper = await openSession(url, 'keeper');
  await keeper.run('create schema if not exists pulsefeed');
  await keeper.begin();
  // A table of the same name that is not committed yet: the other waits to see what becomes of it.
  await keeper.run(`create table pulsefeed.${name} ()`);
  return keeper;
}

async function waits(url: string, application: string): Promise<void> {
  // A session of its own: inside a transaction the activity stands still.
  const observer = await openSession(url, 'observer');
  await until(`${application} to wait`, async () => {
    const { rowCount } = await observer.run(
      `select from pg_stat_activity
       where datname = current_database() and application_name = $1 and wait_event_type = 'Lock'`,
      [application],
    );
    return (rowCount ?? 0) > 0;
  });
}

const all = async (db: Db): Promise<string[]> => pendingMigrations(db);

describe('migrations', () => {
  it('run once when twenty start at once on an empty database', async () => {
    const url = await emptyDatabase();
    const dbs = await Promise.all(Array.from({ length: 20 }, () => open(url)));
    const [first] = dbs;
    assert.ok(first !== undefined);
    const names = await all(first);
    assert.ok(names.length > 0);
    const ran = await Promise.all(dbs.map(migrate));
    assert.deepEqual(
      ran.filter(list => list.length > 0),
      [names],
    );
    assert.deepEqual(await pendingMigrations(first), []);
    assert.deepEqual(
      await first.query({ text: 'select name from pulsefeed.migration order by id', rowMode: 'array' }),
      names.map(name => [name]),
    );
  });

  it('do nothing the second time', async () => {
    const db = await open(await emptyDatabase());
    await migrate(db);
    assert.deepEqual(await migrate(db), []);
  });

  it('run after one that failed in the middle, which left nothing', async () => {
    const url = await emptyDatabase();
    const db = await open(url);
    await db.script('create schema pulsefeed; create table pulsefeed.entity_event (in_the_way integer)');
    await assert.rejects(migrate(db), { code: '42P07' });
    const [head] = await db.query<{ there: boolean }>({
      text: `select to_regclass('pulsefeed.log_head') is not null as there`,
    });
    assert.equal(head?.there, false);
    await db.script('drop table pulsefeed.entity_event');
    const names = await all(db);
    assert.deepEqual(await migrate(db), names);
  });

  it('run after one that was killed in the middle: no lock is left', async () => {
    const url = await emptyDatabase();
    const db = await open(url);
    const program = await compiled(new URL('../base/db/index.ts', import.meta.url));
    // 1. A process migrates and is held in the middle.
    const keeper = await holdTable(url, 'entity_event');
    const child = spawn(
      process.execPath,
      [
        '--input-type=module',
        '--eval',
        `
        const { connect, migrate } = await import(${JSON.stringify(pathToFileURL(program))});
        const databaseUrl = ${JSON.stringify(url)};
        await migrate(await connect({ databaseUrl, dataDir: '', poolSize: 2, applicationName: 'victim' }));`,
      ],
      { stdio: 'inherit' },
    );
    const ended = once(child, 'exit');
    atTestEnd(() => void child.kill('SIGKILL'));
    await waits(url, 'victim');
    // 2. It is killed. 3. The gate opens, and another one migrates.
    child.kill('SIGKILL');
    await ended;
    const names = await all(db);
    const migrated = migrate(db);
    await keeper.rollback();
    assert.deepEqual(await migrated, names);
    assert.deepEqual(await pendingMigrations(db), []);
  });
});
