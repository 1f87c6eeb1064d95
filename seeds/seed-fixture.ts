import { createHash } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadConfig } from '../server/base/config/index.ts';
import { connect, type Db } from '../server/base/db/index.ts';
import { migrateAndPublish, openRuntime, type Runtime } from '../server/runtime.ts';

/** Where a test seeds: a server's database or a folder of the embedded one. */
export interface Target {
  readonly databaseUrl?: string;
  readonly dataDir: string;
}

/** Office and Teams on level 0, Property and Member on 1, Media on 2; `Sale` has no table. */
export const listingResources = [
  {
    name: 'Property',
    table: 'property',
    key: 'ListingKey',
    modified: 'ModificationTimestamp',
    parents: [{ resource: 'Office', column: 'ListOfficeKey' }],
  },
  {
    name: 'Office',
    table: 'office',
    key: 'OfficeKey',
    modified: 'ModificationTimestamp',
    parents: [{ resource: 'Office', column: 'MainOfficeKey' }],
  },
  {
    name: 'Member',
    table: 'member',
    key: 'MemberKey',
    modified: 'ModificationTimestamp',
    parents: [{ resource: 'Office', column: 'OfficeKey' }],
  },
  {
    name: 'Media',
    table: 'media',
    key: 'MediaKey',
    modified: 'MediaModified',
    parents: [{ resource: 'Property', column: 'ResourceRecordKey' }],
  },
  { name: 'Teams', table: 'teams', key: 'TeamKey' },
  { name: 'Sale' },
] as const;

/** Level and rank of each resource, worked out by hand. */
export const places: Readonly<Record<string, readonly [level: number, rank: number]>> = {
  Office: [0, 0],
  Teams: [0, 1],
  Sale: [0, 2],
  Property: [1, 3],
  Member: [1, 4],
  Media: [2, 5],
};

/** The tables behind `listingResources`, empty. */
export const emptyTables = `
create table office ("OfficeKey" varchar(40) primary key, "MainOfficeKey" text, "ModificationTimestamp" timestamptz);
create table teams ("TeamKey" integer primary key);
create table property ("ListingKey" text primary key, "ListOfficeKey" text, "ListPrice" numeric(12, 2),
  "ModificationTimestamp" timestamptz);
create table member ("MemberKey" bigint primary key, "OfficeKey" text, "ModificationTimestamp" timestamp);
create table media ("MediaKey" text, "ResourceRecordKey" text, "MediaModified" date)`;

/** What a fixture's table holds, as the order of seeding sees it. */
export interface SourceRecord {
  readonly resource: string;
  readonly key: string;
  /** Milliseconds since 1970, or null. */
  readonly modified: number | null;
}

const oddKeys = [
  '',
  ' ',
  'a',
  'A',
  'b',
  'B',
  'Z',
  'ä',
  'é',
  'z',
  '~',
  "O'Neill & Sons/1",
  '10',
  '9',
  '中文',
  '\u{1F3E0}',
];
const day = 86_400_000;

/** Sets a database up with tables, rows and an empty log. `size` properties; times repeat, and some are missing. */
export async function prepare(target: Target, size: number): Promise<void> {
  await withRuntimeSetUp(target, async db => {
    await db.script(emptyTables);
    for (const statement of rowStatements(size)) await db.query(statement);
  });
}

function rowStatements(size: number) {
  const n = [size];
  return [
    {
      text: `insert into office select 'O' || i, case when i % 5 > 0 then 'O' || (i - i % 5) end,
        case when i % 4 > 0 then timestamptz '2020-01-01 00:00Z' + (i * 7 % 11) * interval '1 day' end
        from generate_series(1, greatest($1::int / 50, 5)) i`,
      values: n,
    },
    { text: 'insert into teams select i from generate_series(1, greatest($1::int / 100, 12)) i', values: n },
    {
      text: `insert into property select coalesce(($2::text[])[i], 'L' || md5(i::text)), 'O' || (1 + i % 5), 100000 + i,
        case when i % 10 > 0 then timestamptz '2021-01-01 00:00Z' + (i * 31 % 97) * interval '1 day' end
        from generate_series(1, $1::int) i`,
      values: [size, oddKeys],
    },
    {
      text: `insert into member select i, 'O' || (1 + i % 5), timestamp '2021-01-01' + (i * 13 % 97) * interval '1 day'
        from generate_series(1, greatest($1::int / 20, 15)) i`,
      values: n,
    },
    {
      // Every tenth key is there twice: this table has no unique index.
      text: `insert into media select 'M' || i, 'L' || md5((1 + i % 7)::text), date '2021-02-01' + (i * 17 % 53)
        from generate_series(1, $1::int) i
        union all select 'M' || i, 'x', date '2024-01-01' + i % 3 from generate_series(1, $1::int) i where i % 10 = 0`,
      values: n,
    },
  ];
}

/** The records of `prepare` in the order in which they are to be numbered, worked out without the tool. */
export function expectedOrder(size: number): string[] {
  const records: SourceRecord[] = [];
  const add = (resource: string, key: string, modified: number | null) =>
    records.push({ resource, key, modified });
  const range = (length: number) => Array.from({ length }, (_, i) => i + 1);
  const at = (year: number, month: number, days: number) => Date.UTC(year, month, 1) + days * day;
  for (const i of range(Math.max(Math.floor(size / 50), 5)))
    add('Office', `O${i}`, i % 4 > 0 ? at(2020, 0, (i * 7) % 11) : null);
  for (const i of range(Math.max(Math.floor(size / 100), 12))) add('Teams', String(i), null);
  for (const i of range(size)) {
    add('Property', oddKeys[i - 1] ?? `L${md5(String(i))}`, i % 10 > 0 ? at(2021, 0, (i * 31) % 97) : null);
  }
  for (const i of range(Math.max(Math.floor(size / 20), 15)))
    add('Member', String(i), at(2021, 0, (i * 13) % 97));
  for (const i of range(size))
    add('Media', `M${i}`, i % 10 === 0 ? at(2024, 0, i % 3) : at(2021, 1, (i * 17) % 53));
  return records.sort(bySeedOrder).map(({ resource, key }) => `${resource} ${key}`);
}

/** The order that the specification of seeding gives: level, none first, time, rank, bytes of the key. */
export function bySeedOrder(a: SourceRecord, b: SourceRecord): number {
  const [levelA = 0, rankA = 0] = places[a.resource] ?? [];
  const [levelB = 0, rankB = 0] = places[b.resource] ?? [];
  const [timeA, timeB] = [a.modified ?? Number.NEGATIVE_INFINITY, b.modified ?? Number.NEGATIVE_INFINITY];
  if (levelA !== levelB) return levelA - levelB;
  if (timeA !== timeB) return timeA < timeB ? -1 : 1;
  if (rankA !== rankB) return rankA - rankB;
  return Buffer.compare(Buffer.from(a.key), Buffer.from(b.key));
}

/** Opens a runtime on a prepared database for the duration of `work`. */
export async function withRuntime<T>(target: Target, work: (runtime: Runtime) => Promise<T>): Promise<T> {
  return withDb(target, async (db, config) => work(await openRuntime(config, db)));
}

/** Makes tables with `fill`, then sets the log up for `listingResources`. */
export async function withRuntimeSetUp(target: Target, fill: (db: Db) => Promise<void>): Promise<void> {
  await withDb(target, async (db, config) => {
    await fill(db);
    await migrateAndPublish(config, db);
  });
}

type Config = Awaited<ReturnType<typeof loadConfig>>;

async function withDb<T>(target: Target, work: (db: Db, config: Config) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), 'pulsefeed-seed-'));
  try {
    await writeFile(join(folder, 'pulsefeed.config.json'), JSON.stringify({ resources: listingResources }));
    const config = await loadConfig({
      env: {},
      cwd: folder,
      flags: { dataDir: target.dataDir, databaseUrl: target.databaseUrl },
    });
    const db = await connect({ ...target, applicationName: 'pulsefeed seed test' });
    try {
      return await work(db, config);
    } finally {
      await db.close();
    }
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** The log as `resource key`, in the order of its numbers; fails when the numbers have a gap. */
export async function readLog(db: Pick<Db, 'query'>): Promise<string[]> {
  const rows = await db.query<{ seq: bigint; pulse: string }>({
    text: `
select e.seq, r.name || ' ' || e.key as pulse
from pulsefeed.entity_event e
join pulsefeed.resource r on r.id = e.resource_id
order by e.seq`,
  });
  rows.forEach(({ seq }, n) => {
    if (seq !== BigInt(n + 1)) throw new Error(`number ${n + 1} is missing: found ${seq}`);
  });
  return rows.map(({ pulse }) => pulse);
}

function md5(text: string): string {
  return createHash('md5').update(text).digest('hex');
}
