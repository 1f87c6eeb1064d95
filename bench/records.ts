import { parseArgs } from 'node:util';
import pg from 'pg';
import { createReporter } from '../server/base/report.ts';
import type { Runtime } from '../server/runtime.ts';
import { serve } from '../server/serve.ts';
import { openFeedRuntime } from '../testing/captured-feed.ts';
import { cleanUp } from '../testing/cleanup.ts';
import { testDatabase } from '../testing/postgres.ts';
import { withConnection } from '../testing/with-connection.ts';

/**
 * Reading a wide table: `$metadata`, and a page of 1,000 records with 20 selected fields against the same columns by SQL
 * through pg alone, which has no visibility to look at. In turns, so that whatever else the machine does meets both; the
 * median and the best of each side are printed.
 */

const columns = 600;
const filled = 50;
const selected = 20;
const pageSize = 1_000;

const resources = [{ name: 'Property', table: 'property', key: 'ListingKey' }];

const types = ['text', 'numeric(14,2)', 'integer', 'timestamptz(3)', 'boolean'] as const;
const values = [`'value ' || n`, 'n * 1.25', 'n % 100', 'now()', 'n % 2 = 0'] as const;

function names(count: number): string[] {
  return Array.from({ length: count }, (_, index) => `Field${index + 1}`);
}

async function fill(client: pg.Client, rows: number): Promise<void> {
  const list = names(columns - 1).map((name, index) => `"${name}" ${types[index % types.length]}`);
  await client.query(`create table property ("ListingKey" varchar(25) primary key, ${list.join(', ')})`);
  const some = names(filled - 1);
  await client.query(
    `insert into property ("ListingKey", ${some.map(name => `"${name}"`).join(', ')})
     select 'K' || lpad(n::text, 9, '0'), ${some.map((_, index) => values[index % values.length]).join(', ')}
     from generate_series(1, $1::int) n`,
    [rows],
  );
  await client.query('vacuum analyze property');
}

/** What the sequencer would have stored, without numbering 200,000 events first. */
async function show(client: pg.Client): Promise<void> {
  await client.query(
    `insert into pulsefeed.resource (id, name) overriding system value values (1, 'Property')`,
  );
  await client.query(
    `insert into pulsefeed.record_state (resource_id, key, own, vis)
     select (select id from pulsefeed.resource where name = 'Property'), "ListingKey", '{1}', '{1}' from property`,
  );
  await client.query('vacuum analyze pulsefeed.record_state');
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const began = performance.now();
  await work();
  return performance.now() - began;
}

function told(name: string, times: readonly number[]): string {
  const sorted = [...times].sort((a, b) => a - b);
  const median = sorted[Math.floor(sorted.length / 2)] ?? 0;
  return `${name.padEnd(34)} median ${median.toFixed(1).padStart(7)} ms   best ${(sorted[0] ?? 0).toFixed(1).padStart(7)} ms\n`;
}

async function main(): Promise<void> {
  const { values: options } = parseArgs({
    options: { rows: { type: 'string', default: '200000' }, rounds: { type: 'string', default: '15' } },
  });
  const { url: databaseUrl } = await testDatabase({ name: 'bench' });
  await withConnection(databaseUrl, client => fill(client, Number(options.rows)));
  const runtime = await openFeedRuntime(databaseUrl, resources);
  try {
    await withConnection(databaseUrl, show);
    await measure(databaseUrl, runtime, Number(options.rounds));
  } finally {
    await runtime.close();
  }
}

async function measure(databaseUrl: string, runtime: Runtime, rounds: number): Promise<void> {
  const server = await serve(
    { ...runtime, config: { ...runtime.config, settings: { ...runtime.config.settings, sequencer: false } } },
    createReporter('silent'),
    { port: 0 },
  );
  const fields = ['ListingKey', ...names(selected - 1)];
  const list = fields.map(name => `"${name}"`).join(', ');
  const get = async (address: string) => {
    const response = await fetch(address, { headers: { Prefer: `maxpagesize=${pageSize}` } });
    if (response.status !== 200) throw new Error(await response.text());
    return response.text();
  };
  const bare = new pg.Client({ connectionString: databaseUrl });
  await bare.connect();
  const times: Record<string, number[]> = { metadata: [], served: [], sql: [] };
  const text = `select ${list} from property where "ListingKey" > $1 order by "ListingKey" limit ${pageSize}`;
  let after = '';
  let next = `${server.url}/Property?$select=${fields.join(',')}`;
  for (let round = 0; round < rounds; round += 1) {
    times.metadata?.push(await timed(() => get(`${server.url}/$metadata`)));
    let page = '';
    times.served?.push(
      await timed(async () => {
        page = await get(next);
      }),
    );
    next = (JSON.parse(page) as { '@odata.nextLink': string })['@odata.nextLink'];
    times.sql?.push(
      await timed(async () => {
        const { rows } = await bare.query<{ ListingKey: string }>(text, [after]);
        JSON.stringify(rows);
        after = rows.at(-1)?.ListingKey ?? '';
      }),
    );
  }
  process.stdout.write(told('$metadata of 600 fields', times.metadata ?? []));
  process.stdout.write(told('page of 1,000 x 20, served', times.served ?? []));
  process.stdout.write(told('the same SQL through pg, as JSON', times.sql ?? []));
  await bare.end();
  await server.stop();
}

try {
  await main();
} finally {
  await cleanUp('run');
}
