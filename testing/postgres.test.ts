import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { atTestEnd } from './cleanup.ts';
import { openSession } from './gates.ts';
import { type PostgresServer, privateServer, type TestDatabase, testDatabase } from './postgres.ts';
import { temporaryFolder } from './temporary-folder.ts';
import { until } from './until.ts';
import { withConnection } from './with-connection.ts';

async function value(url: string, sql: string): Promise<unknown> {
  return withConnection(url, async client => {
    const { rows } = await client.query({ text: sql, rowMode: 'array' });
    return rows[0]?.[0];
  });
}

/** Runs a line of TypeScript in a process of its own, with `database` being what testDatabase gave it. */
function inChild(code: string, env: Record<string, string> = {}) {
  const modules = ['postgres.ts', 'with-connection.ts'].map(name => new URL(name, import.meta.url).href);
  const script = `
    const { testDatabase, stopTestServer } = await import('${modules[0]}');
    const { withConnection } = await import('${modules[1]}');
    const database = await testDatabase({ name: 'child' });
    ${code}`;
  const child = spawn(process.execPath, ['--import', 'tsx', '--input-type=module', '--eval', script], {
    cwd: fileURLToPath(new URL('..', import.meta.url)),
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  atTestEnd(() => void child.kill('SIGKILL'));
  return child;
}

async function firstLine(child: ReturnType<typeof inChild>): Promise<string> {
  const [chunk] = await once(child.stdout, 'data');
  return String(chunk).trim();
}

describe('the test database', () => {
  const template = (url: string) =>
    withConnection(url, async client => {
      await client.query('create table note (body text)');
      await client.query(`insert into note values ('from the template')`);
    });
  let first: TestDatabase;
  let second: TestDatabase;

  before(async () => {
    let builds = 0;
    const counted = async (url: string) => {
      builds++;
      await template(url);
    };
    [first, second] = await Promise.all([
      testDatabase({ template: counted, name: 'notes' }),
      testDatabase({ template: counted, name: 'notes' }),
    ]);
    assert.equal(builds, 1);
  });

  after(async () => {
    await first.drop();
    await second.drop();
  });

  it('is a clone that shares nothing with the next one', async () => {
    await withConnection(first.url, client => client.query('delete from note'));
    assert.equal(await value(first.url, 'select count(*)::int from note'), 0);
    assert.equal(await value(second.url, 'select body from note'), 'from the template');
  });

  it('is durable and fit for concurrency tests', async () => {
    assert.equal(await value(first.url, 'show fsync'), 'on');
    assert.equal(await value(first.url, 'show synchronous_commit'), 'on');
    assert.ok(Number(await value(first.url, 'show max_prepared_transactions')) >= 1);
  });

  it('names the test file in the name of the database', () => {
    assert.match(new URL(first.url).pathname, /_postgres$/);
  });

  it('fails to drop quietly while a connection is open, and names the database', async () => {
    const leaky = await testDatabase();
    const client = new pg.Client({ connectionString: leaky.url, application_name: 'forgotten' });
    client.on('error', () => undefined);
    await client.connect();
    const name = new URL(leaky.url).pathname.slice(1);
    await assert.rejects(leaky.drop(), new RegExp(`${name}: backend \\d+ \\(forgotten, idle\\)`));
    assert.equal(
      await value(first.url, `select count(*)::int from pg_database where datname = '${name}'`),
      0,
    );
    await client.end();
  });

  it('refuses a template that leaves its connection open, and builds it again when asked again', async () => {
    const clients: pg.Client[] = [];
    const careless = async (url: string) => {
      const client = new pg.Client({ connectionString: url });
      client.on('error', () => undefined);
      await client.connect();
      clients.push(client);
    };
    await assert.rejects(testDatabase({ template: careless, name: 'careless' }), /connections left open/);
    const database = await testDatabase({ template, name: 'careless' });
    assert.equal(await value(database.url, 'select count(*)::int from note'), 1);
    await database.drop();
    await Promise.all(clients.map(client => client.end()));
  });
});

describe('a private server', () => {
  let server: PostgresServer;

  before(async () => {
    server = await privateServer({ settings: { max_connections: '17' } });
    await withConnection(server.url, client => client.query('create table kept (n int)'));
  });

  after(() => server.remove());

  it('takes settings of its own', async () => {
    assert.equal(await value(server.url, 'show max_connections'), '17');
  });

  it('keeps its port and its data over a restart', async () => {
    const { pid, url } = server;
    await withConnection(url, client => client.query('insert into kept values (1)'));
    await server.restart('fast');
    assert.notEqual(server.pid, pid);
    assert.equal(await value(url, 'select max(n) from kept'), 1);
  });

  it('recovers what was committed before kill -9', async () => {
    await withConnection(server.url, client => client.query('insert into kept values (2)'));
    await server.kill();
    await assert.rejects(value(server.url, 'select 1'), { code: 'ECONNREFUSED' });
    await server.start();
    assert.equal(await value(server.url, 'select max(n) from kept'), 2);
    const log = await readFile(`${server.dataDir}/../server.log`, 'utf8');
    assert.match(log, /database system was not properly shut down/);
  });

  it('says why it does not start', async () => {
    await assert.rejects(privateServer({ settings: { shared_buffers: 'plenty' } }), /shared_buffers/);
  });

  it('is what TEST_DATABASE_URL may point at: databases are made there and dropped at the end', async () => {
    const child = inChild(
      `await withConnection(database.url, async client => {
        const { rows } = await client.query('select current_database() as name, inet_server_port() as port');
        console.log(JSON.stringify(rows[0]));
      });
      await stopTestServer();`,
      { TEST_DATABASE_URL: server.url },
    );
    const { name, port } = JSON.parse(await firstLine(child)) as { name: string; port: number };
    assert.equal(port, server.port);
    assert.equal(name, `pulsefeed_test_${child.pid}_1_child`);
    const [code] = await once(child, 'exit');
    assert.equal(code, 0);
    assert.equal(
      await value(server.url, `select count(*)::int from pg_database where datname = '${name}'`),
      0,
    );
  });

  it('is rid of the databases of a killed process when the next one starts', async () => {
    const env = { TEST_DATABASE_URL: server.url };
    const hang = inChild(`console.log(database.url); setInterval(() => {}, 1000);`, env);
    const name = new URL(await firstLine(hang)).pathname.slice(1);
    const count = `select count(*)::int from pg_database where datname = '${name}'`;
    assert.equal(await value(server.url, count), 1);
    hang.kill('SIGKILL');
    await once(hang, 'exit');
    const next = inChild('await stopTestServer();', env);
    await once(next, 'exit');
    assert.equal(await value(server.url, count), 0);
  });
});

describe('a test process that is killed', () => {
  it('leaves no server and no folder behind', async () => {
    const child = inChild(
      `const { rows: [row] } = await withConnection(database.url, client => client.query('show data_directory'));
      console.log(JSON.stringify({ url: database.url, dataDir: row.data_directory }));
      setInterval(() => {}, 1000);`,
      { TEST_DATABASE_URL: '' },
    );
    const { url, dataDir } = JSON.parse(await firstLine(child)) as { url: string; dataDir: string };
    assert.ok(existsSync(dataDir));
    child.kill('SIGKILL');
    await until('the folder to go', () => !existsSync(join(dataDir, '..', '..')));
    await assert.rejects(value(url, 'select 1'), { code: 'ECONNREFUSED' });
  });
});

describe('a session at a gate', () => {
  let database: TestDatabase;

  before(async () => {
    database = await testDatabase();
    await withConnection(database.url, client =>
      client.query('create table head (n int); insert into head values (0)'),
    );
  });

  after(() => database.drop());

  it('is reported as blocked only when Postgres says that it waits, and by whom', async () => {
    // 1. A locks the row; 2. B waits for it; 3. A commits; 4. B is through and sees what A wrote.
    const a = await openSession(database.url, 'A');
    const b = await openSession(database.url, 'B');
    await a.begin();
    await a.run('update head set n = n + 1');
    const update = await b.blocked('update head set n = n + 1 returning n');
    assert.deepEqual(update.blockedBy, [a.pid]);
    await a.commit();
    assert.deepEqual((await update.finished).rows, [{ n: 2 }]);
  });

  it('fails when the statement gets through', async () => {
    const session = await openSession(database.url);
    await assert.rejects(
      session.blocked('select n from head'),
      /expected to wait for a lock, but it got through/,
    );
  });

  it('fails when the statement fails instead of waiting', async () => {
    const session = await openSession(database.url);
    await assert.rejects(
      session.blocked('select 1/0'),
      /expected to wait for a lock, but it failed: .*division/,
    );
  });

  it('does not take a wait that is no lock for one', async () => {
    const session = await openSession(database.url);
    await assert.rejects(session.blocked('select pg_sleep(0.3)'), /but it got through/);
  });

  it('does not take the commit of a failed transaction for one that was done', async () => {
    const session = await openSession(database.url);
    await session.begin();
    await assert.rejects(session.run('select 1/0'));
    await assert.rejects(session.commit(), /commit ended as ROLLBACK/);
  });

  describe('left waiting for another that was left open', () => {
    it('is closed with it when the test ends', async () => {
      const a = await openSession(database.url, 'A');
      const b = await openSession(database.url, 'B');
      await a.begin();
      await a.run('update head set n = 0');
      const { finished } = await b.blocked('update head set n = 0');
      finished.catch(() => undefined);
    });

    it('is gone in the next test', async () => {
      const others = `select count(*)::int from pg_stat_activity where datname = current_database()
        and application_name in ('A', 'B')`;
      assert.equal(await value(database.url, others), 0);
    });
  });
});

describe('a temporary folder', () => {
  it('is empty, of its own and gone after its removal', async () => {
    const [one, two] = await Promise.all([temporaryFolder('sample'), temporaryFolder('sample')]);
    assert.notEqual(one.path, two.path);
    assert.ok(existsSync(one.path));
    await one.remove();
    await one.remove();
    assert.ok(!existsSync(one.path));
    await two.remove();
  });
});
