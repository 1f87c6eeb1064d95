import { readdir, readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { compact, stepSizes } from '../compaction/index.ts';
import { logSize, reclaim } from '../compaction/reclaim.ts';
import { connect, type Db } from '../server/base/db/index.ts';
import { openLog } from '../server/log/index.ts';
import { cleanUp } from '../testing/cleanup.ts';
import { privateServer } from '../testing/postgres.ts';
import { withConnection } from '../testing/with-connection.ts';
import { buildWrittenLog } from '../testing/written-log.ts';

/**
 * Measures compaction: `npx tsx bench/compaction.ts [--rows 2000000] [--keys ROWS/10] [--rest 0.1] [--textbook-seconds 60]`.
 * The log has that many pulses over a tenth as many records in random order, each for one of three sets of shared
 * feeds, one in ten with a narrow feed besides. Each part of the work rests `--rest` times as long as it took, as
 * `compact run` does. Everything runs on a Postgres of its own with 1 GB of shared buffers and 4 GB of write-ahead log.
 */
const { values: flags } = parseArgs({
  options: {
    rows: { type: 'string', default: '2000000' },
    keys: { type: 'string' },
    rest: { type: 'string', default: '0.1' },
    'textbook-seconds': { type: 'string', default: '60' },
  },
});
const rows = Number(flags.rows);
const keys = Number(flags.keys ?? rows / 10);
const restFactor = Number(flags.rest);
const textbookMs = Number(flags['textbook-seconds']) * 1_000;
const pageMs = 20;
const quietPages = 500;
const stepsMs = 60_000;

const print = (name: string, value: string) => process.stdout.write(`${name.padEnd(44)} ${value}\n`);
const now = () => performance.now();
const seconds = (since: number) => (now() - since) / 1_000;
const perSecond = (count: number, since: number) => `${Math.round(count / seconds(since))} a second`;

async function fill(db: Db): Promise<void> {
  await db.transaction(
    async tx => {
      await tx.script(`
set local work_mem = '256MB';
insert into pulsefeed.audience (id, feeds, shared, narrow, digest) values
  (11, '{1,2}', 3, '{}', md5('1,2')), (12, '{2}', 2, '{}', md5('2')), (13, '{1,4}', 1, '{4}', md5('1,4'));
select setseed(0.5);
insert into pulsefeed.entity_event (seq, shared, audience_id, resource_id, key)
select n, (array[3, 2, 1])[a], 10 + a, (select id from pulsefeed.resource), 'K' || lpad(k::text, 9, '0')
from (
  select n, case when random() < 0.1 then 3 when random() < 0.2 then 2 else 1 end as a,
    floor(random() * ${keys})::int as k
  from generate_series(1, ${rows}) n
) g;
insert into pulsefeed.event_feed (feed_id, seq, resource_id, key)
select 4, seq, resource_id, key from pulsefeed.entity_event where audience_id = 13;
update pulsefeed.log_head set last_seq = ${rows}`);
    },
    { statementTimeoutMs: 1_800_000 },
  );
  await vacuum(db, 'analyze');
  await db.script('checkpoint');
}

async function vacuum(db: Db, how: '' | 'analyze'): Promise<void> {
  for (const table of ['entity_event', 'event_feed']) await db.script(`vacuum ${how} pulsefeed.${table}`);
}

async function tellSize(db: Db, when: string): Promise<void> {
  const { log, logIndexes, postings, postingsIndex } = await logSize(db);
  const [row] = await db.query<{ count: bigint; pkey: bigint; record: bigint; heap: bigint }>({
    text: `
select (select count(*) from pulsefeed.entity_event) as count,
  pg_relation_size('pulsefeed.entity_event_pkey') as pkey,
  pg_relation_size('pulsefeed.entity_event_record') as record`,
  });
  const count = Number(row?.count ?? 1n);
  const all = log + logIndexes + postings + postingsIndex;
  const part = (name: string, bytes: bigint) =>
    `${name} ${(Number(bytes) / 1e6).toFixed(1)} MB = ${(Number(bytes) / count).toFixed(1)} B`;
  print(
    `size ${when}`,
    [
      part('all', all),
      part('rows', log),
      part('index (seq)', row?.pkey ?? 0n),
      part('index (resource, key, seq)', row?.record ?? 0n),
      part('postings', postings),
      part('their index', postingsIndex),
    ].join('; '),
  );
  print('', `${count} rows; bytes are per row that is there`);
}

/** Reads random pages of 1,000 until told to stop; gives the times in milliseconds, ascending. */
async function readPages(db: Db, state: { readonly done: boolean }, most: number): Promise<number[]> {
  const log = openLog(db);
  const times: number[] = [];
  while (!state.done && times.length < most) {
    const after = BigInt(Math.floor(Math.random() * rows));
    const startedAt = now();
    await log.read({
      where: { text: 'e.seq > $1', values: [after] },
      above: after,
      held: parameter => ({ text: `select unnest($${parameter}::integer[])`, values: [[1, 4]] }),
      limit: 1_000,
    });
    times.push(now() - startedAt);
    await sleep(pageMs);
  }
  return times.sort((a, b) => a - b);
}

const quantile = (times: readonly number[], at: number) => times[Math.floor(times.length * at)] ?? 0;
const spread = (times: readonly number[]) =>
  `p50 ${quantile(times, 0.5).toFixed(1)}, p99 ${quantile(times, 0.99).toFixed(1)} ms of ${times.length}`;

/** What the busiest backend took until told to stop; zeros where there is no /proc. */
interface Taken {
  /** Memory of its own, without shared buffers, at most. */
  readonly bytes: number;
  readonly cpuSeconds: number;
}

async function watchBackends(postmaster: number, state: { readonly done: boolean }): Promise<Taken> {
  let bytes = 0;
  const ticks = new Map<string, { readonly first: number; last: number }>();
  while (!state.done) {
    for (const pid of await readdir('/proc').catch(() => [])) {
      if (!/^\d+$/.test(pid)) continue;
      const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '');
      if (!status.includes(`\nPPid:\t${postmaster}\n`)) continue;
      bytes = Math.max(bytes, Number(/RssAnon:\s+(\d+) kB/.exec(status)?.[1] ?? 0) * 1_024);
      const fields = (await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '')).split(') ')[1]?.split(' ');
      const used = Number(fields?.[11] ?? 0) + Number(fields?.[12] ?? 0);
      const seen = ticks.get(pid) ?? { first: used, last: used };
      ticks.set(pid, { ...seen, last: Math.max(seen.last, used) });
    }
    await sleep(500);
  }
  const most = Math.max(0, ...[...ticks.values()].map(({ first, last }) => last - first));
  return { bytes, cpuSeconds: most / ticksPerSecond };
}

/** Of Linux, everywhere it runs on. */
const ticksPerSecond = 100;

async function measureCompaction(db: Db, postmaster: number): Promise<void> {
  await tellSize(db, 'before');
  await readPages(db, { done: false }, 100);
  const quiet = await readPages(db, { done: false }, quietPages);
  print('page of 1,000, quiet', spread(quiet));
  const state = { done: false };
  const reading = readPages(db, state, 1_000_000);
  const watching = watchBackends(postmaster, state);
  const startedAt = now();
  let changesAt = 0;
  const result = await compact({
    db,
    log: openLog(db),
    lag: { events: 0n },
    limit: stepSizes.postgres,
    rest: worked => sleep(worked * restFactor),
    now,
    onStep: ({ steps }) => {
      if (steps === 2) changesAt = seconds(startedAt);
    },
  });
  print(
    'compacted',
    `${rows} pulses in ${seconds(startedAt).toFixed(1)} s, ${perSecond(rows, startedAt)}; ${changesAt.toFixed(1)} s of it planning`,
  );
  state.done = true;
  print('dropped, narrowed, transactions', `${result.dropped}, ${result.narrowed}, ${result.steps}`);
  const busy = await reading;
  print('page of 1,000, compacting', spread(busy));
  print('p99, compacting : quiet', (quantile(busy, 0.99) / quantile(quiet, 0.99)).toFixed(2));
  const mb = (bytes: number) => `${(bytes / 1e6).toFixed(0)} MB`;
  const { bytes, cpuSeconds } = await watching;
  print('memory', `this process ${mb(process.memoryUsage().rss)}, its backend at most ${mb(bytes)}`);
  print(
    'processor time of its backend',
    `${cpuSeconds.toFixed(1)} s, ${Math.round(rows / cpuSeconds)} pulses a second of it`,
  );
  const again = now();
  await compact({
    db,
    log: openLog(db),
    lag: { events: 0n },
    limit: stepSizes.postgres,
    rest: () => sleep(0),
    now,
  });
  print('second run, nothing to do', `${(now() - again).toFixed(1)} ms`);
  print('page of 1,000, compacted, not vacuumed', spread(await readPages(db, { done: false }, 200)));
  await tellSize(db, 'after, not vacuumed');
  await vacuum(db, '');
  await tellSize(db, 'after vacuum');
  await reclaim(db);
  await tellSize(db, 'after new indexes');
}

/** The same without a sweep, for some seconds: what a small backlog costs a pulse. */
async function measureSteps(db: Db): Promise<void> {
  const startedAt = now();
  const { upTo } = await compact({
    log: openLog(db),
    lag: { events: 0n },
    limit: stepSizes.postgres,
    rest: () => sleep(0),
    now,
    signal: AbortSignal.timeout(stepsMs),
  });
  print(
    'by steps only, no rest',
    `${upTo} pulses in ${seconds(startedAt).toFixed(1)} s, ${perSecond(Number(upTo), startedAt)}`,
  );
}

/** What any compaction has to do: the same rows deleted by number, in one go, known beforehand, nothing looked at. */
async function measureBareDelete(db: Db): Promise<void> {
  await db.transaction(
    async tx => {
      await tx.script(`
set local work_mem = '256MB';
create temporary table gone on commit drop as
select seq from (
  select seq, max(seq) over (partition by key, audience_id) as last from pulsefeed.entity_event
) e where seq < last;
create unique index on gone (seq);
analyze gone`);
      const startedAt = now();
      await tx.script('delete from pulsefeed.entity_event e using gone where gone.seq = e.seq');
      const [row] = await tx.query<{ count: bigint }>({ text: 'select count(*) from gone' });
      const count = Number(row?.count ?? 0n);
      print(
        'bare delete of known rows',
        `${count} in ${seconds(startedAt).toFixed(1)} s, ${perSecond(count, startedAt)}`,
      );
    },
    { statementTimeoutMs: 1_800_000 },
  );
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
    print('textbook delete', `${seconds(startedAt).toFixed(1)} s, in one transaction, and it is wrong`);
  } catch (error) {
    print('textbook delete', `given up after ${seconds(startedAt).toFixed(1)} s: ${String(error)}`);
  }
}

async function main(): Promise<void> {
  const settings = { shared_buffers: '1GB', max_wal_size: '4GB', wal_level: 'replica' };
  const server = await privateServer({ settings });
  const on = (database: string) => {
    const url = new URL(server.url);
    url.pathname = `/${database}`;
    return url.href;
  };
  const admin = (text: string) => withConnection(server.url, client => client.query(text));
  const open = (database: string) => connect({ databaseUrl: on(database), dataDir: '', poolSize: 6 });
  await admin('create database filled');
  await buildWrittenLog(on('filled'));
  const filled = await open('filled');
  const startedAt = now();
  await fill(filled);
  print('filled', `${rows} pulses of ${keys} records in ${seconds(startedAt).toFixed(0)} s`);
  await filled.close();
  for (const measure of [measureCompaction, measureSteps, measureBareDelete, measureTextbook]) {
    await admin('create database measured template filled strategy file_copy');
    const db = await open('measured');
    await measure(db, server.pid);
    await db.close();
    await admin('drop database measured');
  }
}

main()
  .catch((error: unknown) => {
    process.stderr.write(`${error instanceof Error ? error.stack : String(error)}\n`);
    process.exitCode = 1;
  })
  .finally(() => cleanUp('run'));
