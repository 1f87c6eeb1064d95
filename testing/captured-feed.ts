import { loadConfig, type ResourceConfig } from '../server/base/config/index.ts';
import { connect, migrate } from '../server/base/db/index.ts';
import { installCapture, type ReconcileParts } from '../server/capture/index.ts';
import { migrateAndPublish, openDatabase, openRuntime, type Runtime } from '../server/runtime.ts';
import { atTestEnd } from './cleanup.ts';
import { type GateSession, openSession } from './gates.ts';
import { testDatabase } from './postgres.ts';

/** For tests: a provider's database with a feed on it, driven by hand. Everything is closed when the test ends. */
export interface FeedFixture {
  readonly url: string;
  readonly runtime: Runtime;
  /** The provider's connection. */
  readonly provider: GateSession;
  /** What reconciling works with. */
  parts(): Promise<ReconcileParts>;
  /** What waits in the outbox, in order, as `op resource key`. */
  outbox(): Promise<string[]>;
  /** Steps the sequencer until nothing waits. */
  drain(): Promise<void>;
  /** Drains, and returns the events numbered since the last call, as `resource key`. */
  events(): Promise<string[]>;
}

export interface FeedOptions {
  readonly capture?: boolean;
  /** The role that the feed runs as, made with these grants; DATABASE stands for the database's name. */
  readonly user?: { readonly name: string; readonly grants: string };
  /** Roles that the test made: they belong to the whole server, and the next test must not meet them. */
  readonly roles?: readonly string[];
}

/** Makes a database, runs the provider's DDL in it, and sets the feed up; capture is installed unless told otherwise. */
export async function openFeed(
  ddl: string,
  resources: readonly ResourceConfig[],
  options: FeedOptions = {},
): Promise<FeedFixture> {
  // A role of its own makes the schema itself, and so owns it.
  const { url, drop } = await testDatabase(
    options.user === undefined ? { template: migrated, name: 'feed' } : {},
  );
  const provider = await openSession(url, 'provider');
  await provider.run(ddl);
  const own = options.user === undefined ? url : await asRole(provider, url, options.user);
  const runtime = await openFeedRuntime(own, resources);
  atTestEnd(async () => {
    await runtime.close();
    await provider.close();
    await drop();
    for (const role of options.roles ?? []) await dropRole(url, role);
  });
  if (options.capture !== false) await installCapture(runtime.db, runtime.tables);
  return { url, runtime, provider, ...readers(runtime, provider) };
}

async function migrated(url: string): Promise<void> {
  const db = await connect({ databaseUrl: url, dataDir: '' });
  await migrate(db);
  await db.close();
}

/** A runtime on a database, its schema up to date. The caller closes it. */
export async function openFeedRuntime(url: string, resources: readonly ResourceConfig[]): Promise<Runtime> {
  const loaded = await loadConfig({ env: { DATABASE_URL: url }, cwd: import.meta.dirname });
  const config = { ...loaded, resources };
  const db = await openDatabase(config, 'pulsefeed test');
  try {
    await migrateAndPublish(config, db);
    return await openRuntime(config, db);
  } catch (error) {
    await db.close();
    throw error;
  }
}

async function asRole(
  admin: GateSession,
  url: string,
  user: { name: string; grants: string },
): Promise<string> {
  await admin.run(`create role ${user.name} login password 'secret'`);
  await admin.run(user.grants.replaceAll('DATABASE', new URL(url).pathname.slice(1)));
  const own = new URL(url);
  own.username = user.name;
  own.password = 'secret';
  return own.href;
}

async function dropRole(url: string, name: string): Promise<void> {
  const server = new URL(url);
  server.pathname = '/postgres';
  const admin = await openSession(server.href, 'drop role');
  await admin.run(`drop role if exists ${name}`);
  await admin.close();
}

function readers(
  runtime: Runtime,
  provider: GateSession,
): Pick<FeedFixture, 'parts' | 'outbox' | 'drain' | 'events'> {
  let seen = 0n;
  const drain = async () => {
    const sequencer = runtime.sequencer();
    try {
      for (let idle = false, step = 0; !idle; step += 1) {
        if (step > 1_000) throw new Error('the sequencer does not come to rest');
        const { kind } = await sequencer.step();
        if (kind !== 'idle' && kind !== 'numbered') throw new Error(`the sequencer waits: ${kind}`);
        idle = kind === 'idle';
      }
    } finally {
      await sequencer.close();
    }
  };
  return {
    async parts() {
      const { sources } = await runtime.rules.current();
      return { db: runtime.db, tables: runtime.tables, sources };
    },
    drain,
    async outbox() {
      const { rows } = await provider.run<{ line: string }>(
        `select concat_ws(' ', op, resource, key) as line from pulsefeed.record_change order by xid, id`,
      );
      return rows.map(({ line }) => line);
    },
    async events() {
      await drain();
      const { rows } = await provider.run<{ seq: string; line: string }>(
        `select e.seq, r.name || ' ' || e.key as line
         from pulsefeed.entity_event e join pulsefeed.resource r on r.id = e.resource_id
         where e.seq > $1 order by e.seq`,
        [seen.toString()],
      );
      seen = BigInt(rows.at(-1)?.seq ?? seen);
      return rows.map(({ line }) => line);
    },
  };
}
