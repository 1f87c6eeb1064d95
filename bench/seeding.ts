import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { loadConfig } from '../server/base/config/index.ts';
import { connect, type Db } from '../server/base/db/index.ts';
import { migrateAndPublish } from '../server/runtime.ts';
import { PostgresServer } from '../testing/postgres-server.ts';
import { temporaryFolder } from '../testing/temporary-folder.ts';

/**
 * Measures seeding on a Postgres of its own: a million records from tables, a hundred thousand from a CSV file.
 * `npx tsx bench/seeding.ts [--rows N] [--csv-rows N] [--keys numeric|hash]`. Each run is a process of its own, so
 * that its memory is that of seeding alone. Numeric keys rise with the time of the record as an MLS hands them out;
 * hash keys are spread at random, the hardest case for the log's indexes.
 */
const resources = [
  { name: 'Office', table: 'office', key: 'OfficeKey', modified: 'ModificationTimestamp' },
  {
    name: 'Property',
    table: 'property',
    key: 'ListingKey',
    modified: 'ModificationTimestamp',
    parents: [{ resource: 'Office', column: 'ListOfficeKey' }],
  },
  { name: 'Sale' },
];

function option(name: string, standard: string): string {
  const at = process.argv.indexOf(`--${name}`);
  return at === -1 ? standard : (process.argv[at + 1] ?? standard);
}

async function main(): Promise<void> {
  const rows = Number(option('rows', '1000000'));
  const csvRows = Number(option('csv-rows', '100000'));
  const keys = option('keys', 'numeric');
  const folder = await temporaryFolder('bench-seeding');
  // As PostgreSQL comes; the test server has less memory and writes more to its log.
  const server = await PostgresServer.create({ settings: { shared_buffers: '128MB', wal_level: 'replica' } });
  try {
    await writeFile(join(folder.path, 'pulsefeed.config.json'), JSON.stringify({ resources }));
    const config = await loadConfig({ env: {}, cwd: folder.path });
    const db = await connect({ databaseUrl: server.url, dataDir: '' });
    await fill(db, rows, keys);
    await migrateAndPublish(config, db);
    await db.script('checkpoint');
    await db.close();
    await report(`${rows} rows from tables, ${keys} keys`, folder.path, server.url, []);
    const csv = join(folder.path, 'sales.csv');
    await writeCsv(csv, csvRows);
    const flags = [
      '--from',
      csv,
      '--resource',
      'Sale',
      '--key',
      'id',
      '--modified',
      'date',
      '--modified-format',
      'yyyyMMdd',
    ];
    await report(`${csvRows} rows from CSV`, folder.path, server.url, flags);
  } finally {
    await server.remove();
    await folder.remove();
  }
}

async function fill(db: Db, rows: number, keys: string): Promise<void> {
  const key = keys === 'hash' ? `md5(n::text)` : `(1000000000 + n * 7::bigint)::text`;
  await db.script(
    `
create table office ("OfficeKey" varchar(40) primary key, "OfficeName" text, "ModificationTimestamp" timestamptz);
create table property ("ListingKey" varchar(40) primary key, "ListOfficeKey" varchar(40), "StandardStatus" text,
  "ListPrice" numeric(12, 2), "City" text, "PublicRemarks" text, "ModificationTimestamp" timestamptz);
insert into office
select 'O' || n, 'Office ' || n, timestamptz '2020-01-01 00:00Z' + n * interval '1 hour' from generate_series(1, 2000) n;
insert into property
select ${key}, 'O' || (1 + n % 2000), 'Active', 100000 + n, 'City ' || n % 300, repeat('Sunny rooms. ', 12),
  timestamptz '2022-01-01 00:00Z' + n * interval '1 minute' + (n::bigint * 7919 % 1000003) * interval '20 seconds'
from generate_series(1, ${rows}) n;
vacuum analyze`.replaceAll('vacuum analyze', 'analyze'),
  );
}

async function writeCsv(path: string, rows: number): Promise<void> {
  const stream = createWriteStream(path);
  stream.write('id,date,price,city,remarks\n');
  for (let n = 0; n < rows; n += 1) {
    const day = String(1 + ((n * 7919) % 28)).padStart(2, '0');
    const line = `${2_000_000 + n * 3},2023${String(1 + (n % 12)).padStart(2, '0')}${day},${200_000 + n},City ${n % 300},"Sunny, with ""garden"""\n`;
    if (!stream.write(line)) await once(stream, 'drain');
  }
  stream.end();
  await once(stream, 'close');
}

/** Runs `seed` in a process of its own and prints what it took. */
async function report(title: string, cwd: string, url: string, flags: readonly string[]): Promise<void> {
  const program = fileURLToPath(new URL('./seeding-process.ts', import.meta.url));
  const child = spawn(process.execPath, ['--import', 'tsx', program, ...flags], {
    env: { ...process.env, DATABASE_URL: url, BENCH_FOLDER: cwd },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let output = '';
  child.stdout.on('data', chunk => {
    output += chunk;
  });
  const [code] = await once(child, 'close');
  console.log(`${title}: ${code === 0 ? output.trim() : `ended with ${code}`}`);
}

await main();
