import { setTimeout as delay } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { cleanUp } from '../testing/cleanup.ts';
import { compiled } from '../testing/compiled.ts';
import { buildLogDatabase } from '../testing/log-database.ts';
import { type PostgresServer, privateServer } from '../testing/postgres.ts';
import { seededRandom } from '../testing/seeded-random.ts';
import { type SequencerProcess, startSequencerProcess } from '../testing/sequencer-process.ts';
import { until } from '../testing/until.ts';
import { withConnection } from '../testing/with-connection.ts';
import { follow, readAllRecords } from './soak-reader.ts';
import { judge, type SoakVerdict } from './soak-verdict.ts';
import { commitTable, type WrittenTransaction, write } from './soak-writer.ts';

/** How long and how hard. */
export interface SoakOptions {
  /** Of writing; coming to rest takes a little longer. */
  readonly seconds: number;
  readonly writers?: number;
  readonly readers?: number;
  readonly killEveryMs?: number;
  /** Random unless given; the choices of all writers follow from it, the timing does not. */
  readonly seed?: number;
}

/** What happened, and whether anything happened that must not. */
export interface SoakResult {
  readonly seed: string;
  readonly seconds: number;
  readonly committed: number;
  readonly rolledBack: number;
  /** Refused by a deadlock, a foreign key or a broken connection. */
  readonly refused: number;
  readonly kills: number;
  readonly restarts: number;
  readonly head: bigint;
  readonly pages: number;
  readonly verdict: SoakVerdict;
}

const idsPerWriter = 1_000_000;
const restMs = 60_000;
/** One works large transactions off in many small steps, the other takes all in one. */
const batchSizes = [25, 10_000];

/**
 * Writers with random delays and rollbacks, two sequencer processes of which one is killed every 300 ms, a Postgres
 * that is restarted (immediate) in the middle, readers that follow: then everything comes to rest and is judged.
 */
export async function soak(options: SoakOptions): Promise<SoakResult> {
  const { seconds, writers = 24, readers = 4, killEveryMs = 300 } = options;
  const random = seededRandom(options.seed);
  const server = await privateServer();
  try {
    const { url } = server;
    await buildLogDatabase(url);
    await withConnection(url, client => client.query(commitTable));
    const sequencers = await startSequencers(url);
    const endAt = performance.now() + seconds * 1_000;
    let resting = false;
    const feeds = Array.from({ length: readers }, () => follow(url, () => resting));
    const [kills, restarts, ...written] = await Promise.all([
      killInTurn(sequencers, endAt, killEveryMs),
      restartOnce(server, performance.now() + seconds * 500),
      ...Array.from({ length: writers }, (_, n) =>
        write(url, endAt, n * idsPerWriter, seededRandom(random.below(2 ** 32))),
      ),
    ]);
    const head = await rest(url);
    resting = true;
    const read = await Promise.all(feeds);
    await sequencers.stop();
    const transactions = written.flat();
    const evidence = {
      committed: await reallyCommitted(url, transactions),
      feeds: read,
      records: await readAllRecords(url),
      head,
    };
    return {
      seed: random.seed,
      seconds,
      committed: evidence.committed.length,
      rolledBack: transactions.filter(({ end }) => end === 'rolled-back').length,
      refused: transactions.filter(({ end }) => end === 'refused').length,
      kills,
      restarts,
      head,
      pages: read.reduce((sum, { pages }) => sum + pages, 0),
      verdict: judge(evidence),
    };
  } finally {
    await server.remove();
  }
}

/** Two sequencer processes; whichever ends is replaced until `stop`. */
async function startSequencers(url: string) {
  const program = await compiled(new URL('../testing/sequencer-process.ts', import.meta.url));
  let stopped = false;
  const slots = batchSizes.map((batchSize, n) => {
    const slot = { process: undefined as SequencerProcess | undefined };
    const start = () => {
      if (stopped) return;
      slot.process = startSequencerProcess({ url, name: `sequencer-${n}`, batchSize, program });
      slot.process.child.once('exit', start);
    };
    start();
    return slot;
  });
  await until('the sequencers to start', () => slots.every(slot => slot.process?.ready === true), {
    withinMs: restMs,
  });
  return {
    kill(n: number): boolean {
      const victim = slots[n % slots.length]?.process;
      // One that is still starting is let alone: on a busy machine nobody would ever number otherwise.
      return victim?.ready === true && victim.child.kill('SIGKILL');
    },
    async stop() {
      stopped = true;
      await Promise.all(slots.map(slot => slot.process?.kill()));
    },
  };
}

async function killInTurn(
  sequencers: { kill(n: number): boolean },
  endAt: number,
  everyMs: number,
): Promise<number> {
  let kills = 0;
  for (; performance.now() + everyMs < endAt; ) {
    await delay(everyMs);
    if (sequencers.kill(kills)) kills++;
  }
  return kills;
}

async function restartOnce(server: PostgresServer, at: number): Promise<number> {
  await delay(at - performance.now());
  await server.restart('immediate');
  return 1;
}

/** Waits until every change has its number, and returns the head. */
async function rest(url: string): Promise<bigint> {
  return withConnection(url, client =>
    until(
      'the sequencers to come to rest',
      async () => {
        const { rows } = await client.query<{ head: string; rest: boolean }>(`
          select last_seq as head, batch_stage is null and not exists (select from pulsefeed.record_change) as rest
          from pulsefeed.log_head`);
        return rows[0]?.rest === true ? BigInt(rows[0].head) : undefined;
      },
      { withinMs: restMs, everyMs: 20 },
    ),
  );
}

async function reallyCommitted(
  url: string,
  transactions: readonly WrittenTransaction[],
): Promise<WrittenTransaction[]> {
  const { rows } = await withConnection(url, client =>
    client.query<{ id: string }>('select id from soak_commit'),
  );
  const ids = new Set(rows.map(({ id }) => Number(id)));
  const wrong = transactions.find(({ id, end }) => end === 'committed' && !ids.has(id));
  if (wrong !== undefined) throw new Error(`Postgres lost transaction ${wrong.id}, which it had committed`);
  return transactions.filter(({ id }) => ids.has(id));
}

/** One line a figure, for people. */
export function describeSoak(result: SoakResult): string {
  const { verdict, ...figures } = result;
  const { examples, ...counts } = verdict;
  const lines = Object.entries({ ...figures, ...counts }).map(
    ([name, value]) => `${name.padEnd(12)} ${value}`,
  );
  return [...lines, ...examples.map(example => `  ${example}`)].join('\n');
}

/** Whether nothing happened that must not. */
export function isClean({ verdict }: SoakResult): boolean {
  return verdict.lost + verdict.doubled + verdict.stale + verdict.differing === 0;
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: { seconds: { type: 'string', default: '60' }, seed: { type: 'string' } },
  });
  try {
    const result = await soak({
      seconds: Number(values.seconds),
      ...(values.seed === undefined ? {} : { seed: Number(values.seed) }),
    });
    process.stdout.write(`${describeSoak(result)}\n`);
    process.exitCode = isClean(result) ? 0 : 1;
  } finally {
    await cleanUp('run');
  }
}

if (process.argv[1] !== undefined && pathToFileURL(process.argv[1]).href === import.meta.url) {
  main().catch((error: unknown) => {
    process.stderr.write(`${String(error)}\n`);
    process.exitCode = 1;
  });
}
