import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import type pg from 'pg';
import { Agent, request } from 'undici';
import { cleanUp } from '../testing/cleanup.ts';
import { compiled } from '../testing/compiled.ts';
import { PostgresServer } from '../testing/postgres-server.ts';
import { temporaryFolder } from '../testing/temporary-folder.ts';
import { until } from '../testing/until.ts';
import { withConnection } from '../testing/with-connection.ts';

/**
 * A first copy through `pulsefeed replicate`, each in a process of its own, from `pulsefeed serve` in another: 1,000,000
 * pulses of 200,000 records, against one request for each of a sample of the records over as many connections as the
 * client uses. Prints seconds, the ratio and the most memory that a client held.
 */

const resources = [{ name: 'Property', table: 'property', key: 'ListingKey' }];
const connections = 4;
const reportMemory = `data:text/javascript,process.on('exit',()=>process.stderr.write('\\nKB '+process.resourceUsage().maxRSS+'\\n'))`;

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      records: { type: 'string', default: '200000' },
      pulses: { type: 'string', default: '1000000' },
      sample: { type: 'string', default: '40000' },
    },
  });
  const records = Number(values.records);
  const folder = await temporaryFolder('bench-replication');
  const program = await compiled(new URL('../server/main.ts', import.meta.url));
  await writeFile(join(folder.path, 'pulsefeed.config.json'), JSON.stringify({ resources }));
  const postgres = await PostgresServer.create({ settings: { shared_buffers: '128MB' } });
  try {
    await withConnection(postgres.url, client => makeListings(client, records));
    const env = {
      ...process.env,
      DATABASE_URL: postgres.url,
      PULSEFEED_CONFIG: join(folder.path, 'pulsefeed.config.json'),
    };
    for (const verb of [['migrate'], ['seed', '--no-capture']]) await run([program, ...verb], env);
    await withConnection(postgres.url, client => repeatPulses(client, Number(values.pulses) - records));
    const server = spawn(process.execPath, [program, 'serve', '--port', '0'], { env });
    try {
      const url = await addressOf(server);
      await measure(url, program, folder.path, { records, sample: Math.min(records, Number(values.sample)) });
    } finally {
      if (server.exitCode === null) {
        server.kill();
        await once(server, 'exit');
      }
    }
  } finally {
    await postgres.remove();
  }
}

async function makeListings(client: pg.Client, records: number): Promise<void> {
  await client.query(`
create table property (
  "ListingKey" varchar(20) primary key, "ListPrice" numeric(14,2), "StandardStatus" text, "City" text,
  "PostalCode" text, "BedroomsTotal" integer, "LivingArea" numeric(10,2), "ListOfficeKey" text,
  "ModificationTimestamp" timestamptz, "PublicRemarks" text)`);
  await client.query(
    `insert into property
     select 'K' || lpad(n::text, 9, '0'), n * 100.5, 'Active', 'City ' || n % 500, n::text, n % 6, n % 300, 'O' || n % 900,
       now(), repeat('A light and quiet house. ', 8) from generate_series(1, $1::int) n`,
    [records],
  );
}

/** More pulses of records that the log has, as changes over the years would have left them, with no compaction. */
async function repeatPulses(client: pg.Client, pulses: number): Promise<void> {
  await client.query(
    `with head as (update pulsefeed.log_head set last_seq = last_seq + $1 returning last_seq - $1 as before)
     insert into pulsefeed.entity_event (seq, shared, audience_id, resource_id, key)
     select head.before + n, 1, 1, 1,
       'K' || lpad((1 + (n * 7919) % (select count(*) from property))::text, 9, '0')
     from head, generate_series(1, $1) n`,
    [pulses],
  );
  await client.query('vacuum analyze');
}

async function measure(
  url: string,
  program: string,
  folder: string,
  { records, sample }: { readonly records: number; readonly sample: number },
): Promise<void> {
  const perRequest = (await fetchOneByOne(url, sample)) / sample;
  const single = perRequest * records;
  print(
    `one request per record: ${single.toFixed(1)} s for ${records} (${sample} asked over ${connections} connections)`,
  );
  for (const to of ['copy.sqlite', 'copy.ndjson']) {
    const began = performance.now();
    const memory = await run(
      ['--import', reportMemory, program, 'replicate', '--from', url, '--to', join(folder, to)],
      process.env,
    );
    const seconds = (performance.now() - began) / 1_000;
    const megabytes = Math.round(Number(/KB (\d+)/.exec(memory)?.[1]) / 1_024);
    print(
      `replicate to ${to}: ${seconds.toFixed(1)} s, ${(single / seconds).toFixed(1)} times as fast, ${megabytes} MB at most`,
    );
  }
}

/** Milliseconds to seconds: how long so many single fetches took. */
async function fetchOneByOne(url: string, sample: number): Promise<number> {
  const dispatcher = new Agent({ connections, pipelining: 1 });
  let next = 1;
  const began = performance.now();
  const lane = async () => {
    while (next <= sample) {
      const key = `K${String(next).padStart(9, '0')}`;
      next += 1;
      const { statusCode, body } = await request(`${url}/Property('${key}')`, { dispatcher });
      const record = await body.json();
      if (statusCode !== 200) throw new Error(JSON.stringify(record));
    }
  };
  await Promise.all(Array.from({ length: connections }, lane));
  await dispatcher.close();
  return (performance.now() - began) / 1_000;
}

async function run(args: readonly string[], env: NodeJS.ProcessEnv): Promise<string> {
  const child = spawn(process.execPath, args, { env, stdio: ['ignore', 'ignore', 'pipe'] });
  let said = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    said += text;
  });
  const [code] = await once(child, 'exit');
  if (code !== 0) throw new Error(`${args.join(' ')} ended with ${code}: ${said}`);
  return said;
}

async function addressOf(server: ReturnType<typeof spawn>): Promise<string> {
  let said = '';
  for (const stream of [server.stdout, server.stderr]) {
    stream?.setEncoding('utf8').on('data', (text: string) => {
      said += text;
    });
  }
  return until('the server to listen', async () => /http:\/\/[\w.]+:\d+/.exec(said)?.[0], {
    withinMs: 30_000,
  });
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}

try {
  await main();
} finally {
  await cleanUp('run');
}
