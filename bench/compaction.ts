import { parseArgs } from 'node:util';
import { compact, stepSizes } from '../compaction/index.ts';
import { logSize, reclaim } from '../compaction/reclaim.ts';
import { connect, type Db } from '../server/base/db/index.ts';
import { openLog } from '../server/log/index.ts';
import { cleanUp } from '../testing/cleanup.ts';
import { testDatabase } from '../testing/postgres.ts';
import { buildWrittenLog } from '../testing/written-log.ts';

/**
 * Measures compaction: `npx tsx bench/compaction.ts [--pulses 1000000] [--textbook-seconds 60]`. The log has N pulses over
 * N/10 records in random order, each for one of three sets of shared feeds, one in ten with a narrow feed besides.
 */
const { values: flags } = parseArgs({
  options: {
    pulses: { type: 'string', default: '1000000' },
    'textbook-seconds': { type: 'string', default: '60' },
  },
});
const pulses = Number(flags.pulses);
const textbookMs = Number(flags['textbook-seconds']) * 1_000;
const pageMs = 20;

const print = (name: string, value: string) => process.stdout.write(`${name.padEnd(44)} ${value}\n`);
const now = () => performance.now();

async function fill(db: Db): Promise<void> {
  await db.script(`
insert into pulsefeed.audience (id, feeds, shared, narrow, digest) values
  (11, '{1,2}', 3, '{}', md5('1,2')), (12, '{2}', 2, '{}', md5('2')), (13, '{1,4}', 1, '{4}', md5('1,4'));
select setseed(0.5);
insert into pulsefeed.entity_event (seq, shared, audience_id, resource_id, key)
select n, (array[3, 2, 1])[a], 10 + a, (select id from pulsefeed.resource), 'K' || lpad(k::text, 9, '0')
from (
  select n, case when random() < 0.1 then 3 when random() < 0.2 then 2 else 1 end as a,
    floor(random() * ${pulses / 10})::int as k
  from generate_series(1, ${pulses}) n
) g;
insert into pulsefeed.event_feed (feed_id, seq) select 4, seq from pulsefeed.entity_event where audience_id = 13;
update pulsefeed.log_head set last_seq = ${pulses}`);
  await db.script('vacuum (analyze) pulsefeed.entity_event');
  await db.script('vacuum (analyze) pulsefeed.event_feed');
}

async function tellSize(db: Db, when: string): Promise<void> {
  const { log, logIndexes, postings, postingsIndex } = await logSize(db);
  const [rows] = await db.query<{ count: bigint }>({ text: 'select count(*) from pulsefeed.entity_event' });
  const all = Number(log + logIndexes + postings + postingsIndex);
  const mb = (bytes: bigint) => `${(Number(bytes) / 1e6).toFixed(1)} MB`;
  print(
    `size ${when}`,
    `${mb(BigInt(all))}: table ${mb(log)}, indexes ${mb(logIndexes)}, postings ${mb(postings)} + ${mb(postingsIndex)}; ` +
      `${rows?.count} rows, ${(all / Number(rows?.count ?? 1n)).toFixed(0)} bytes each`,
  );
}

/** Reads random pages of 1,000 until told to stop; gives the times in milliseconds, ascending. */
async function readPages(db: Db, state: { readonly done: boolean }, most: number): Promise<number[]> {
  const log = openLog(db);
  const times: number[] = [];
  while (!state.done && times.length < most) {
    const after = BigInt(Math.floor(Math.random() * pulses));
    const startedAt = now();
    await log.read({
      where: { text: 'e.seq > $1', values: [after] },
      above: after,
      held: parameter => ({ text: `select unnest($${parameter}::integer[])`, values: [[1, 4]] }),
      limit: 1_000,
    });
    times.push(now() - startedAt);
    await new Promise(resolve => setTimeout(resolve, pageMs));
  }
  return times.sort((a, b) => a - b);
}

const p99 = (times: readonly number[]) => `${(times[Math.floor(times.length * 0.99)] ?? 0).toFixed(1)} ms`;

async function measureCompaction(db: Db): Promise<void> {
  await tellSize(db, 'before');
  print('page p99, quiet', p99(await readPages(db, { done: false }, 300)));
  const state = { done: false };
  const reading = readPages(db, state, 1_000_000);
  const startedAt = now();
  const result = await compact({
    log: openLog(db),
    lag: { events: 0n },
    limit: stepSizes.postgres,
    rest: async () => undefined,
    now,
  });
  const seconds = (now() - startedAt) / 1_000;
  state.done = true;
  print('compacted', `${pulses} pulses in ${seconds.toFixed(1)} s, ${Math.round(pulses / seconds)} a second`);
  print('dropped, narrowed, steps', `${result.dropped}, ${result.narrowed}, ${result.steps}`);
  print('page p99, compacting without a rest', p99(await reading));
  print('memory of this process', `${(process.memoryUsage().rss / 1e6).toFixed(0)} MB`);
  const again = now();
  await openLog(db).retire({ lag: { events: 0n }, limit: stepSizes.postgres });
  print('second run, nothing to do', `${(now() - again).toFixed(1)} ms`);
  await tellSize(db, 'after, not vacuumed');
  await db.script('vacuum pulsefeed.entity_event');
  await db.script('vacuum pulsefeed.event_feed');
  await tellSize(db, 'after vacuum');
  await reclaim(db);
  await tellSize(db, 'after vacuum and new indexes');
}

async function measureTextbook(db: Db): Promise<void> {
  const startedAt = now();
  try {
    await db.transaction(
      tx =>
        tx.script(`delete from pulsefeed.entity_event
where seq not in (select max(seq) from pulsefeed.entity_event group by resource_id, key)`),
      { statementTimeoutMs: textbookMs },
    );
    print(
      'textbook delete',
      `${((now() - startedAt) / 1_000).toFixed(1)} s, in one transaction, and it is wrong`,
    );
  } catch (error) {
    print(
      'textbook delete',
      `given up after ${((now() - startedAt) / 1_000).toFixed(1)} s: ${String(error)}`,
    );
  }
}

async function main(): Promise<void> {
  for (const measure of [measureCompaction, measureTextbook]) {
    const { url, drop } = await testDatabase({ template: buildWrittenLog, name: 'written' });
    const db = await connect({ databaseUrl: url, dataDir: '', poolSize: 4 });
    await fill(db);
    await measure(db);
    await db.close();
    await drop();
  }
  await cleanUp('run');
}

main().catch(async (error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.stack : String(error)}\n`);
  process.exitCode = 1;
  await cleanUp('run');
});
