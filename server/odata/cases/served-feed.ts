import { embeddedFolder } from '../../../testing/embedded-folder.ts';
import { testDatabase } from '../../../testing/postgres.ts';
import { anonymous } from '../../base/auth/viewer.ts';
import { loadConfig, type ResourceConfig, type Settings } from '../../base/config/index.ts';
import { connect, type Db, migrate } from '../../base/db/index.ts';
import { createHttpApp } from '../../base/http/app.ts';
import { listenHttp } from '../../base/http/listen.ts';
import type { Observation } from '../../base/observe.ts';
import { recordSets } from '../../records/index.ts';
import { migrateAndPublish, openRuntime, type Runtime } from '../../runtime.ts';
import { odataRouter } from '../index.ts';

/** For tests and the fuzzer: the protocol over a real log and real tables, on a real socket. */
export interface ServedFeed {
  /** The service root, without a slash at its end. */
  readonly url: string;
  readonly port: number;
  readonly runtime: Runtime;
  /** What was observed so far. */
  readonly observed: Observation[];
  /** Reports changes and numbers them, with all that waits already; returns when they are in the log. */
  pulse(changes: readonly (readonly [resource: string, key: string])[]): Promise<void>;
  /** Runs SQL as the provider or the compaction would. */
  script(sql: string): Promise<void>;
  close(): Promise<void>;
}

export interface ServedFeedOptions {
  readonly engine?: 'pglite' | 'postgres';
  readonly settings?: Partial<Settings>;
}

/** The records: of every kind of column, and with a key that is a number. */
const tables = `
create table property (
  "ListingKey" text primary key,
  "ListPrice" numeric(14,2),
  "City" text,
  "BedroomsTotal" integer,
  "TaxId" bigint,
  "LivingArea" double precision,
  "Active" boolean not null default true,
  "Views" text[],
  "Session" uuid,
  "ListingContractDate" date,
  "ModificationTimestamp" timestamptz
);
create table showing ("ShowingId" bigint primary key, "Note" text);
insert into property
select 'L' || n, case n % 4 when 0 then null else n * 1000.25 end, (array['Aspen', 'Boise', null, 'Ütrecht'])[1 + n % 4],
  n % 5, 9007199254740990 + n, n / 3.0, n % 2 = 0, array['city', 'sea'], null, date '2024-02-29' + n,
  timestamptz '2024-02-29T10:00:00.123456+02' + n * interval '1 hour'
from generate_series(1, 40) n;
insert into property ("ListingKey", "City") values ('a/b ''c'' & d', 'Odd');
insert into showing select n, 'note ' || n from generate_series(1, 7) n`;

/** The records are known to the log and visible to everyone, as if they had been numbered long ago and compacted away. */
const known = `
insert into pulsefeed.resource (name) values ('Property'), ('Showing') on conflict do nothing;
insert into pulsefeed.record_state (resource_id, key, vis)
select r.id, p.key, '{1}'
from (
  select 'Property' as name, "ListingKey" as key from property
  union all select 'Showing', "ShowingId"::text from showing
) p
join pulsefeed.resource r on r.name = p.name`;

/** The resources of the fixture; `Note` has no table, so that its changes are reported only. */
export const resources: readonly ResourceConfig[] = [
  { name: 'Property', table: 'public.property', key: 'ListingKey' },
  { name: 'Showing', table: 'public.showing', key: 'ShowingId' },
  { name: 'Note' },
];

/** Opens a feed and serves it on a free port of 127.0.0.1. */
export async function openServedFeed(options: ServedFeedOptions = {}): Promise<ServedFeed> {
  const { db, drop } = options.engine === 'pglite' ? await openPglite() : await openPostgres();
  const loaded = await loadConfig({ env: {}, cwd: import.meta.dirname });
  const config = { ...loaded, resources, settings: { ...loaded.settings, ...options.settings } };
  await migrateAndPublish(config, db);
  await db.script(known);
  const runtime = await openRuntime(config, db);
  const observed: Observation[] = [];
  const http = await listen(runtime, observed);
  return {
    url: config.settings.publicUrl ?? http.url,
    port: http.port,
    runtime,
    observed,
    pulse: changes => pulse(runtime, changes),
    script: sql => db.script(sql),
    async close() {
      await http.stop(1_000);
      await runtime.close();
      await drop();
    },
  };
}

function listen(runtime: Runtime, observed: Observation[]) {
  const { settings } = runtime.config;
  const odata = odataRouter({
    log: runtime.log,
    policy: runtime.policy,
    sets: recordSets(runtime.db, runtime.policy, runtime.tables),
    tokenKey: 'key of the tests',
    // Everybody reads everything here: who may see what is tested where it is decided.
    authenticate: async () => anonymous,
    countRequest: async () => ({}),
    settings,
  });
  const { trustProxy, corsOrigins } = settings;
  const app = createHttpApp(
    {
      observe: observation => observed.push(observation),
      trustProxy,
      corsOrigins,
      now: () => performance.now(),
    },
    [odata],
  );
  const { maxHeaderBytes, requestTimeoutMs } = settings;
  return listenHttp(app, { host: '127.0.0.1', port: 0, maxHeaderBytes, requestTimeoutMs });
}

async function openPostgres(): Promise<{ db: Db; drop: () => Promise<void> }> {
  const { url, drop } = await testDatabase({ template: fill, name: 'odata' });
  return { db: await connect({ databaseUrl: url, dataDir: '', applicationName: 'odata test' }), drop };
}

async function fill(url: string): Promise<void> {
  const db = await connect({ databaseUrl: url, dataDir: '' });
  await migrate(db);
  await db.script(tables);
  await db.close();
}

async function openPglite(): Promise<{ db: Db; drop: () => Promise<void> }> {
  const folder = await embeddedFolder('odata');
  const db = await connect({ dataDir: folder.path });
  await migrate(db);
  await db.script(tables);
  return { db, drop: () => folder.remove() };
}

/** One by one: a batch would fold the changes of one record and order those of several by their resources. */
async function pulse(runtime: Runtime, changes: readonly (readonly [string, string])[]): Promise<void> {
  const sequencer = runtime.sequencer();
  const drain = async () => {
    for (let step = 0; (await sequencer.step()).kind === 'numbered'; step += 1) {
      if (step > 100) throw new Error('the sequencer does not come to rest');
    }
  };
  try {
    await drain();
    for (const [resource, key] of changes) {
      await runtime.log.append(undefined, [{ resource, key, op: 'upsert' }]);
      await drain();
    }
  } finally {
    await sequencer.close();
  }
}
