import { parseArgs } from 'node:util';
import type pg from 'pg';
import { installCapture, removeCapture } from '../server/capture/index.ts';
import type { Runtime } from '../server/runtime.ts';
import { openFeedRuntime } from '../testing/captured-feed.ts';
import { cleanUp } from '../testing/cleanup.ts';
import { testDatabase } from '../testing/postgres.ts';
import { withConnection } from '../testing/with-connection.ts';

/**
 * What capture costs the provider's write: updates of one row at a time, and one statement over all rows, each with
 * and without the triggers, in turns, so that whatever else the machine does meets both. Prints a table; the best of
 * each side is compared, since noise only ever adds.
 */

interface Measured {
  readonly singleMs: number;
  readonly bulkMs: number;
}

const resources = [{ name: 'Property', table: 'property', key: 'ListingKey' }];

const ddl = `
create table property ("ListingKey" varchar(25) primary key, "ListPrice" numeric, "StandardStatus" text,
  "ListOfficeKey" text, "PublicRemarks" text, "ModificationTimestamp" timestamptz, c1 text, c2 text, c3 integer,
  c4 integer, c5 jsonb) with (fillfactor = 50)`;

async function fill(client: pg.Client, rows: number): Promise<void> {
  await client.query(ddl);
  await client.query(
    `insert into property select 'K' || n, n, 'Active', 'O' || n % 100, repeat('lorem ipsum ', 30), now(), 'a', 'b',
       1, 2, '{"a": 1}' from generate_series(1, $1::int) n`,
    [rows],
  );
}

/** A tidy start for each measurement: what the last one left behind must not slow this one down. */
async function tidy(client: pg.Client): Promise<void> {
  await client.query('truncate pulsefeed.record_change');
  await client.query('vacuum analyze property');
  await client.query('checkpoint');
}

async function measure(client: pg.Client, rows: number, updates: number): Promise<Measured> {
  await tidy(client);
  // Without waiting for the disk, which would hide what the trigger costs.
  await client.query('set synchronous_commit = off');
  const update = {
    name: 'one',
    text: `update property set "ListPrice" = "ListPrice" + 1 where "ListingKey" = $1`,
  };
  const began = performance.now();
  for (let n = 0; n < updates; n += 1) {
    await client.query({ ...update, values: [`K${1 + ((n * 7919) % rows)}`] });
  }
  const singleMs = (performance.now() - began) / updates;
  await tidy(client);
  const bulkBegan = performance.now();
  await client.query('update property set "ListPrice" = "ListPrice" + 1');
  return { singleMs, bulkMs: performance.now() - bulkBegan };
}

/** Runs all rounds and returns the best of each side. */
async function compare(
  client: pg.Client,
  runtime: Runtime,
  size: { rows: number; updates: number; rounds: number },
): Promise<{ without: Measured; captured: Measured }> {
  const without: Measured[] = [];
  const captured: Measured[] = [];
  for (let round = 0; round < size.rounds; round += 1) {
    await removeCapture(runtime.db, runtime.tables);
    without.push(await measure(client, size.rows, size.updates));
    await installCapture(runtime.db, runtime.tables);
    captured.push(await measure(client, size.rows, size.updates));
  }
  return { without: best(without), captured: best(captured) };
}

function best(all: readonly Measured[]): Measured {
  return {
    singleMs: Math.min(...all.map(({ singleMs }) => singleMs)),
    bulkMs: Math.min(...all.map(({ bulkMs }) => bulkMs)),
  };
}

const { values } = parseArgs({
  options: {
    rows: { type: 'string', default: '100000' },
    updates: { type: 'string', default: '5000' },
    rounds: { type: 'string', default: '4' },
  },
});

async function main(): Promise<void> {
  const size = { rows: Number(values.rows), updates: Number(values.updates), rounds: Number(values.rounds) };
  const { url, drop } = await testDatabase();
  await withConnection(url, async client => {
    await fill(client, size.rows);
    const runtime = await openFeedRuntime(url, resources);
    try {
      const { without, captured } = await compare(client, runtime, size);
      const perRow = ((captured.bulkMs - without.bulkMs) * 1_000) / size.rows;
      const perUpdate = (captured.singleMs - without.singleMs) * 1_000;
      console.table({
        'one row, a statement each (ms)': { without: without.singleMs, captured: captured.singleMs },
        [`${size.rows} rows in one statement (ms)`]: { without: without.bulkMs, captured: captured.bulkMs },
      });
      console.log(
        `capture adds ${perUpdate.toFixed(0)} µs a single update, ${perRow.toFixed(1)} µs a row in bulk`,
      );
    } finally {
      await runtime.close();
    }
  });
  await drop();
}

try {
  await main();
} finally {
  await cleanUp('run');
}
