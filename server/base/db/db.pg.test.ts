import assert from 'node:assert/strict';
import { atTestEnd } from '../../../testing/cleanup.ts';
import { embeddedFolder } from '../../../testing/embedded-folder.ts';
import { openSession } from '../../../testing/gates.ts';
import { testDatabase } from '../../../testing/postgres.ts';
import { until } from '../../../testing/until.ts';
import { connect, type Db } from './index.ts';

async function onPostgres(): Promise<{ db: Db; url: string }> {
  const database = await testDatabase();
  atTestEnd(() => database.drop());
  const db = await connect({ databaseUrl: database.url, dataDir: '', poolSize: 4 });
  atTestEnd(() => db.close());
  return { db, url: database.url };
}

async function onPglite(): Promise<{ db: Db }> {
  const folder = await embeddedFolder('pglite');
  const db = await connect({ dataDir: folder.path });
  atTestEnd(() => db.close());
  return { db };
}

for (const [engine, open] of [
  ['PostgreSQL', onPostgres],
  ['PGlite', onPglite],
] as const) {
  describe(`the seam to the database, on ${engine}`, function () {
    this.timeout(30_000);

    it('gives int8 as bigint, exactly, and rows as arrays when asked', async () => {
      const { db } = await open();
      const text = 'select 9223372036854775807::int8 as n, $1::text as t';
      assert.deepEqual(await db.query({ text, values: ['x'] }), [{ n: 9223372036854775807n, t: 'x' }]);
      assert.deepEqual(await db.query({ text, values: ['x'], rowMode: 'array' }), [
        [9223372036854775807n, 'x'],
      ]);
    });

    it('rolls a transaction back when its work throws, and rethrows what it threw', async () => {
      const { db } = await open();
      await db.script('create table t (n int)');
      const fault = new Error('mine');
      await assert.rejects(
        db.transaction(async tx => {
          await tx.query({ text: 'insert into t values (1)' });
          throw fault;
        }),
        (error: unknown) => error === fault,
      );
      assert.deepEqual(await db.query({ text: 'select n from t' }), []);
      await db.transaction(tx => tx.script('insert into t values (2); insert into t values (3)'));
      assert.equal((await db.query({ text: 'select n from t' })).length, 2);
    });

    it('does not mix statements into a transaction that is open', async () => {
      const { db } = await open();
      await db.script('create table t (n int)');
      let outside: Promise<unknown> = Promise.resolve();
      await db
        .transaction(async tx => {
          outside = db.query({ text: 'insert into t values (1)' });
          await tx.query({ text: 'insert into t values (2)' });
          throw new Error('roll back');
        })
        .catch(() => undefined);
      await outside;
      assert.deepEqual(await db.query({ text: 'select n from t' }), [{ n: 1 }]);
    });

    it('hears notifications', async () => {
      const { db } = await open();
      const heard: string[] = [];
      const stop = await db.listen('news', payload => heard.push(payload));
      await db.query({ text: `select pg_notify('news', 'one')` });
      await until('the notification', async () => heard.includes('one') || undefined);
      await stop();
    });

    it('keeps temporary tables for a session and for nobody else', async () => {
      const { db } = await open();
      const session = await db.session();
      await session.transaction(tx => tx.script('create temporary table mine (n int) on commit delete rows'));
      const rows = await session.transaction(async tx => {
        await tx.query({ text: 'insert into pg_temp.mine values (1)' });
        return tx.query({ text: 'select n from pg_temp.mine' });
      });
      assert.deepEqual(rows, [{ n: 1 }]);
      await session.close();
    });
  });
}

describe('a broken connection to PostgreSQL', () => {
  it('is replaced: the next statement works', async () => {
    const { db, url } = await onPostgres();
    const [row] = await db.query<{ pid: number }>({ text: 'select pg_backend_pid() as pid' });
    const killer = await openSession(url);
    await killer.run('select pg_terminate_backend($1)', [row?.pid]);
    await until('a statement to work again', async () => {
      try {
        return (await db.query({ text: 'select 1 as n' })).length;
      } catch {
        return undefined;
      }
    });
  });

  it('of a listener is opened again, and the listener is told to look', async () => {
    const { db, url } = await onPostgres();
    const heard: string[] = [];
    const stop = await db.listen('news', payload => heard.push(payload));
    const killer = await openSession(url);
    await killer.run(`select pg_terminate_backend(pid) from pg_stat_activity where query ilike 'listen%'`);
    // What was sent meanwhile is lost, so it is called once with nothing.
    await until('the call after reconnecting', async () => heard.includes('') || undefined, {
      withinMs: 10_000,
    });
    await db.query({ text: `select pg_notify('news', 'two')` });
    await until('the notification', async () => heard.includes('two') || undefined);
    await stop();
  });
});
