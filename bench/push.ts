import { fork } from 'node:child_process';
import { once } from 'node:events';
import { readdir, readFile } from 'node:fs/promises';
import { type AddressInfo, createServer as createTcpServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { issueConsumer } from '../server/access/index.ts';
import { loadConfig } from '../server/base/config/index.ts';
import { connect, type Db, type Statement } from '../server/base/db/index.ts';
import { unobserved } from '../server/base/observe.ts';
import { openPush } from '../server/push/index.ts';
import { createSeal } from '../server/push/seal.ts';
import { createSender } from '../server/push/sender.ts';
import { standardFields } from '../server/push/subscription-body.ts';
import { createSubscription } from '../server/push/subscriptions.ts';
import { createTargetGuard } from '../server/push/target-guard.ts';
import { openRuntime, type Runtime } from '../server/runtime.ts';
import { applyFeeds } from '../server/visibility/index.ts';
import { cleanUp } from '../testing/cleanup.ts';
import { testDatabase } from '../testing/postgres.ts';
import { buildSimulationDatabase, resources } from '../testing/simulated-provider.ts';

/**
 * Measures push: `npx tsx bench/push.ts [fanout|thousand|backlog]`.
 *
 * `fanout`: 200 subscriptions at the same place, batches of 500, against the same HTTP client that posts constant bodies
 * of the same size to the same receiver, in turn; and the statements that a delivered batch costs, with 50 and with 200.
 * `thousand`: 1,000 subscriptions and live writes, without and with 5 endpoints that hang and 5 that refuse.
 * `backlog`: one subscription with 1,000,000 events before it; the memory of the process, over its course.
 */
const { values: flags, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    subscriptions: { type: 'string', default: '200' },
    batches: { type: 'string', default: '30' },
    rounds: { type: 'string', default: '7' },
    backlog: { type: 'string', default: '1000000' },
    writes: { type: 'string', default: '8' },
  },
});
const warmUpRounds = 2;
const secretKey = 'a key of the bench with 32 characters or more';
const print = (name: string, value: string) => process.stdout.write(`${name.padEnd(48)} ${value}\n`);

interface Bench {
  readonly db: Db;
  readonly runtime: Runtime;
  /** Statements so far, by name; blocks of the log have none. */
  readonly statements: Map<string, number>;
}

async function open(slots: number): Promise<Bench> {
  const { url } = await testDatabase({ template: buildSimulationDatabase, name: 'push' });
  const loaded = await loadConfig({ env: { DATABASE_URL: url }, cwd: import.meta.dirname });
  const settings = {
    ...loaded.settings,
    secretKey,
    pushAllow: ['127.0.0.0/8'],
    pushSlots: slots,
    pushPerHost: slots,
    pushTimeoutMs: 5_000,
    poolSize: 6,
  };
  const config = { ...loaded, resources, settings };
  const plain = await connect({ databaseUrl: url, dataDir: '', poolSize: 6 });
  const statements = new Map<string, number>();
  const db: Db = {
    ...plain,
    query: <Row>(statement: Statement) => {
      const name = statement.name ?? /push_|with holder/.exec(statement.text)?.[0] ?? 'other';
      statements.set(name, (statements.get(name) ?? 0) + 1);
      const t = performance.now();
      return plain.query<Row>(statement).finally(() => {
        const spent = `${name} ms`;
        statements.set(spent, (statements.get(spent) ?? 0) + performance.now() - t);
      });
    },
  };
  const runtime = await openRuntime(config, db);
  await applyFeeds(db, { IDX: { Property: 'a eq 1' } }, resources, runtime.tables);
  return { db, runtime, statements };
}

/** Appends pulses for IDX behind the head, as the sequencer leaves them. */
async function append(db: Db, count: number): Promise<bigint> {
  const [row] = await db.query<{ head: bigint }>({
    text: `
with place as (
  select h.last_seq, f.id as feed, 1::bigint << f.bit as bit from pulsefeed.log_head h, pulsefeed.feed f where f.name = 'IDX'
), resource as (
  insert into pulsefeed.resource (name) values ('Property') on conflict (name) do update set name = excluded.name returning id
), audience as (
  insert into pulsefeed.audience (feeds, shared, narrow, digest)
  select array[feed], bit, '{}', md5(feed::text) from place
  on conflict (digest) do update set digest = excluded.digest returning id
), written as (
  insert into pulsefeed.entity_event (seq, shared, audience_id, resource_id, key)
  select p.last_seq + n, p.bit, a.id, r.id, 'KEY' || lpad((p.last_seq + n)::text, 12, '0')
  from place p, audience a, resource r, generate_series(1, $1::integer) n
  returning 1
), moved as (
  update pulsefeed.log_head set last_seq = last_seq + (select count(*) from written) returning last_seq
)
select last_seq as head, pg_notify('pulsefeed_head', '') from moved`,
    values: [count],
  });
  return row?.head ?? 0n;
}

async function subscribe(db: Db, consumer: number, url: string, from: bigint | undefined): Promise<string> {
  const body = { fields: { ...standardFields, callback_url: url }, sequence: from };
  const context = { seal: createSeal(secretKey), mostPerConsumer: 1_000_000 };
  return (await db.transaction(tx => createSubscription(context, tx, consumer, body))).id;
}

async function consumers(db: Db, count: number): Promise<number[]> {
  const ids: number[] = [];
  for (let n = 0; n < count; n += 1) {
    await issueConsumer(db, { name: `c${n}`, feeds: ['IDX'], attributes: {}, scopes: ['read'] });
  }
  for (const { id } of await db.query<{ id: number }>({
    text: 'select id from pulsefeed.consumer order by id',
  }))
    ids.push(id);
  return ids;
}

interface Report {
  readonly posts: readonly [string, number][];
  readonly count: number;
  readonly cpuMs: number;
}

async function receiver() {
  const child = fork(fileURLToPath(new URL('push-receiver.ts', import.meta.url)), {
    execArgv: ['--import', 'tsx'],
  });
  const [{ port }] = (await once(child, 'message')) as [{ port: number }];
  return {
    url: `http://127.0.0.1:${port}/events`,
    async report(): Promise<Report> {
      const answer = once(child, 'message') as Promise<[Report]>;
      child.send('report');
      return (await answer)[0];
    },
    close: () => child.disconnect(),
  };
}

async function caughtUp(
  db: Db,
  head: bigint,
  all: number,
  exceptUrls: readonly string[] = [],
): Promise<void> {
  for (let round = 0; round < 60_000; round += 1) {
    const [row] = await db.query<{ n: bigint }>({
      text: `select count(*) as n from pulsefeed.push_subscription where cursor_seq >= $1 and not callback_url = any ($2)`,
      values: [head, [...exceptUrls]],
    });
    if (Number(row?.n ?? 0n) >= all) return;
    await sleep(20);
  }
  throw new Error('they do not catch up');
}

/** Processor time of the database server in milliseconds, where /proc tells; else 0. */
async function serverCpuMs(db: Db): Promise<number> {
  const [row] = await db.query<{ pid: number }>({ text: 'select pg_backend_pid() as pid' });
  const stat = async (pid: string) => {
    const text = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
    // Own time and that of children that have ended, in ticks of 10 ms.
    const ticks = fields.slice(11, 15).reduce((sum, field) => sum + Number(field), 0);
    return { parent: fields[1], ms: ticks * 10 };
  };
  const { parent } = await stat(String(row?.pid));
  if (parent === undefined) return 0;
  let total = (await stat(parent)).ms;
  for (const pid of await readdir('/proc')) {
    if (!/^\d+$/.test(pid)) continue;
    const { parent: own, ms } = await stat(pid);
    if (own === parent) total += ms;
  }
  return total;
}

async function fanout(): Promise<void> {
  const count = Number(flags.subscriptions);
  const batches = Number(flags.batches);
  const slots = 200;
  const bench = await open(slots);
  const { db, runtime, statements } = bench;
  const sink = await receiver();
  const ids = await consumers(db, 20);
  const head = await append(db, batches * 500);
  await db.script('analyze pulsefeed.entity_event');
  const push = openPush({ ...runtime, db, observe: unobserved }, runtime.config.settings);
  if (push === undefined) throw new Error('push is off');
  for (let n = 0; n < count; n += 1) await subscribe(db, ids[n % ids.length] ?? 0, sink.url, head);
  const worker = push.worker('bench', []);
  await worker.start();
  const sender = createSender(
    { guard: createTargetGuard(['127.0.0.0/8'], []), connectTimeoutMs: 5_000 },
    slots,
  );
  const ratios: number[] = [];
  for (let round = 0; round < Number(flags.rounds); round += 1) {
    const before = { own: process.cpuUsage(), sink: (await sink.report()).cpuMs };
    const constant = await postConstant(sender, sink.url, count * batches, slots);
    const spent = process.cpuUsage(before.own);
    const { cpuMs: sinkMs } = await sink.report();
    const constantMs = (spent.user + spent.system) / 1_000 + sinkMs - before.sink;
    const serverMs = await serverCpuMs(db);
    statements.clear();
    await db.query({ text: `update pulsefeed.push_subscription set cursor_seq = 0, due_at = now()` });
    const cpu = process.cpuUsage();
    const startedAt = performance.now();
    worker.poke();
    await caughtUp(db, head, count);
    const took = (performance.now() - startedAt) / 1_000;
    const used = process.cpuUsage(cpu);
    const { count: posts, cpuMs } = await sink.report();
    const rate = posts / took;
    // The first rounds are still compiling.
    if (round >= warmUpRounds) ratios.push(rate / constant);
    const parts = {
      worker: (used.user + used.system) / 1_000 / posts,
      receiver: (cpuMs - sinkMs) / posts,
      database: ((await serverCpuMs(db)) - serverMs) / posts,
    };
    const ms = Object.entries(parts).map(([name, value]) => `${name} ${value.toFixed(3)}`);
    print(
      `round ${round + 1}: processor ms a POST`,
      `constant ${(constantMs / count / batches).toFixed(3)}; ${ms.join(', ')}`,
    );
    print(`round ${round + 1}: constant bodies`, `${Math.round(constant)} POSTs a second`);
    print(
      `round ${round + 1}: ${count} subscriptions`,
      `${Math.round(rate)} POSTs, ${Math.round(rate * 500)} events a second, ratio ${(rate / constant).toFixed(2)}, ` +
        `${((used.user + used.system) / 1e6 / took).toFixed(2)} of a core`,
    );
    for (const name of ['push_due', 'with holder', 'push_claim', 'push_settle'])
      print(
        `  ${name} a delivered batch`,
        `${((statements.get(name) ?? 0) / posts).toFixed(3)}, ${((statements.get(`${name} ms`) ?? 0) / (statements.get(name) ?? 1)).toFixed(1)} ms each`,
      );
  }
  print('ratio, median', [...ratios].sort((a, b) => a - b)[Math.floor(ratios.length / 2)]?.toFixed(2) ?? '');
  await worker.stop();
  push.close();
  sender.close();
  sink.close();
  await db.close();
}

async function postConstant(
  sender: ReturnType<typeof createSender>,
  url: string,
  count: number,
  width: number,
): Promise<number> {
  const event =
    '{"EntityEventSequence":1234567,"ResourceName":"Property","ResourceRecordKey":"KEY000001234567"}';
  const body = Buffer.from(
    `{"@reso.context":"urn:reso:metadata:2.0:resource:entityevent","value":[${Array.from({ length: 500 }, () => event).join(',')}]}`,
  );
  const target = new URL(url);
  let left = count;
  const startedAt = performance.now();
  await Promise.all(
    Array.from({ length: width }, async () => {
      while (left > 0) {
        left -= 1;
        const result = await sender.post({
          url: target,
          headers: { 'Content-Type': 'application/json' },
          body,
          timeoutMs: 10_000,
        });
        if (result.kind !== 'answer') throw new Error(result.detail);
      }
    }),
  );
  return count / ((performance.now() - startedAt) / 1_000);
}

async function thousand(): Promise<void> {
  const { db, runtime } = await open(64);
  const sink = await receiver();
  const ids = await consumers(db, 50);
  const healthy = 990;
  for (let n = 0; n < healthy; n += 1) await subscribe(db, ids[n % ids.length] ?? 0, sink.url, undefined);
  const push = openPush({ ...runtime, db, observe: unobserved }, runtime.config.settings);
  if (push === undefined) throw new Error('push is off');
  const worker = push.worker('bench', []);
  await worker.start();
  const p99: number[] = [];
  const mute = createTcpServer(socket => socket.on('error', () => undefined)).listen(0, '127.0.0.1');
  await once(mute, 'listening');
  const muteUrl = `http://127.0.0.1:${(mute.address() as AddressInfo).port}/`;
  const dead = createTcpServer().listen(0, '127.0.0.1');
  await once(dead, 'listening');
  const deadUrl = `http://127.0.0.1:${(dead.address() as AddressInfo).port}/`;
  dead.close();
  const bad: string[] = [];
  const run = async (name: string) => {
    const writtenAt = new Map<string, number>();
    for (let n = 0; n < Number(flags.writes); n += 1) {
      const at = Date.now();
      const head = await append(db, 5);
      for (let k = 0n; k < 5n; k += 1n) writtenAt.set(String(head - k), at);
      await caughtUp(db, head, healthy, [muteUrl, deadUrl]);
      // Failing ones are due again at once, so that they are in the way all the time.
      if (bad.length > 0)
        await db.query({
          text: 'update pulsefeed.push_subscription set due_at = now() where id = any ($1)',
          values: [bad],
        });
    }
    const { posts } = await sink.report();
    const lags = posts
      .flatMap(([last, at]) => (writtenAt.has(last) ? [at - (writtenAt.get(last) ?? 0)] : []))
      .sort((a, b) => a - b);
    const at = (part: number) => lags[Math.floor((lags.length - 1) * part)] ?? 0;
    print(name, `p50 ${at(0.5)} ms, p99 ${at(0.99)} ms of ${lags.length} deliveries`);
    return at(0.99);
  };
  await run('warming up');
  for (let round = 0; round < Number(flags.rounds); round += 1) {
    const without = await run('990 healthy');
    for (let n = 0; n < 10; n += 1)
      bad.push(await subscribe(db, ids[0] ?? 0, n < 5 ? muteUrl : deadUrl, undefined));
    const withBad = await run('with 5 that hang and 5 that refuse');
    await db.query({ text: 'delete from pulsefeed.push_subscription where id = any ($1)', values: [bad] });
    bad.length = 0;
    p99.push(withBad / without);
  }
  print(
    'p99 with, by p99 without, median',
    p99.sort((a, b) => a - b)[Math.floor(p99.length / 2)]?.toFixed(2) ?? '',
  );
  await worker.stop();
  push.close();
  mute.close();
  sink.close();
  await db.close();
}

async function backlog(): Promise<void> {
  const { db, runtime } = await open(64);
  const sink = await receiver();
  const [consumer = 0] = await consumers(db, 1);
  const head = await append(db, Number(flags.backlog));
  await db.script('analyze pulsefeed.entity_event');
  for (let n = 0; n < 4; n += 1) await subscribe(db, consumer, sink.url, 0n);
  const push = openPush({ ...runtime, db, observe: unobserved }, runtime.config.settings);
  if (push === undefined) throw new Error('push is off');
  const worker = push.worker('bench', []);
  const startedAt = performance.now();
  await worker.start();
  let most = 0;
  const samples: number[] = [];
  const timer = setInterval(() => {
    globalThis.gc?.();
    const { heapUsed, rss } = process.memoryUsage();
    most = Math.max(most, rss);
    samples.push(heapUsed);
  }, 500);
  await caughtUp(db, head, 4);
  clearInterval(timer);
  const seconds = (performance.now() - startedAt) / 1_000;
  const mb = (bytes: number) => `${(bytes / 2 ** 20).toFixed(0)} MB`;
  const quarter = Math.max(1, Math.floor(samples.length / 4));
  const mean = (part: readonly number[]) => part.reduce((a, b) => a + b, 0) / Math.max(1, part.length);
  print(
    '4 subscriptions behind by',
    `${flags.backlog} events, ${seconds.toFixed(1)} s, ${Math.round((4 * Number(head)) / seconds)} events a second`,
  );
  print(
    'heap in use, first and last quarter',
    `${mb(mean(samples.slice(0, quarter)))}, ${mb(mean(samples.slice(-quarter)))}`,
  );
  print('resident, most', mb(most));
  await worker.stop();
  push.close();
  sink.close();
  await db.close();
}

const all: Record<string, () => Promise<void>> = { fanout, thousand, backlog };
try {
  for (const name of positionals.length === 0 ? Object.keys(all) : positionals) await all[name]?.();
} finally {
  await cleanUp('run');
}
