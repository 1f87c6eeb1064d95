import assert from 'node:assert/strict';
import { connect, type Db } from '../server/base/db/index.ts';
import { PulsefeedError } from '../server/base/errors.ts';
import type { Observation } from '../server/base/observe.ts';
import { openLog } from '../server/log/index.ts';
import { atTestEnd } from '../testing/cleanup.ts';
import { embeddedFolder } from '../testing/embedded-folder.ts';
import { drain, type LogDatabase, logDatabase, readAll } from '../testing/log-database.ts';
import { testDatabase } from '../testing/postgres.ts';
import { until } from '../testing/until.ts';
import {
  buildWrittenLog,
  emptyWrittenLog,
  fillWrittenLog,
  retainedPulses,
  writePulses,
} from '../testing/written-log.ts';
import { CompactionLoop, compact, toldAsBefore, verify } from './index.ts';

const kills = Number(process.env.PULSEFEED_TORTURE ?? 3);
const readers = 5;
const keys = 40;
const now = () => performance.now();
const rest = async () => undefined;

async function writtenLog(): Promise<Db> {
  const { url, drop } = await testDatabase({ template: buildWrittenLog, name: 'written' });
  atTestEnd(drop);
  const db = await connect({ databaseUrl: url, dataDir: '', poolSize: 6, applicationName: 'under-test' });
  atTestEnd(() => db.close());
  await emptyWrittenLog(db, [], {});
  return db;
}

/** `count` pulses over a tenth as many keys, of changing feeds. */
const manyPulses = (count: number) =>
  Array.from({ length: count }, (_, index) => ({
    key: `k${(index * 7) % (count / 10)}`,
    feeds: index % 3 === 0 ? [1, 2] : index % 3 === 1 ? [1, 4] : [2, 4, 5],
  }));

describe('compaction', () => {
  it('lets writers, the sequencer and readers of every place go on, and loses nothing to any of them', async () => {
    const log = await logDatabase();
    const stopped = { writing: false };
    const changes = { written: 0 };
    const write = async () => {
      for (let round = 0; round < 60; round += 1) {
        const key = (n: number) => `N${(round * 13 + n * 7) % keys}`;
        await log.log.append(
          undefined,
          [0, 1, 2, 3, 4].map(n => ({ resource: 'Note', key: key(n), op: 'upsert' })),
        );
        changes.written += 5;
      }
      stopped.writing = true;
    };
    const sequencer = log.sequencer({ batchSize: 50 });
    const number = async () => {
      while (!stopped.writing) await sequencer.step();
      await drain(sequencer);
    };
    const counts = await Promise.all([
      write(),
      number(),
      ...Array.from({ length: readers }, (_, index) => follow(log, 1 + index * 3, stopped)),
    ]);
    assert.deepEqual(counts.slice(2), Array(readers).fill(keys));
    await compact({ log: log.log, lag: { events: 0n }, limit: 50, rest, now });
    assert.equal((await readAll(log.log)).length, keys);
    assert.ok(changes.written > 5 * keys);
  });

  it(`is whole after its session was ended ${kills} times in the middle of a step`, async function () {
    this.timeout(kills * 10_000 + 20_000);
    const db = await writtenLog();
    await writePulses(db, 1n, manyPulses(3_000));
    for (let kill = 0; kill < kills; kill += 1) {
      let fatal: Promise<unknown> | undefined;
      await assert.rejects(
        openLog(db).retire({
          lag: { events: 0n },
          limit: 400,
          check: {
            before: async () => undefined,
            // The deletes and the watermark are written, the commit is not.
            async after(tx) {
              const [self] = await tx.query<{ pid: number }>({ text: 'select pg_backend_pid() as pid' });
              fatal = db.query({ text: 'select pg_terminate_backend($1, 5000)', values: [self?.pid] });
              await fatal;
              await tx.query({ text: 'select 1' });
            },
          },
        }),
      );
      await fatal;
      await openLog(db).retire({ lag: { events: 0n }, limit: 300 });
    }
    await compact({ log: openLog(db), lag: { events: 0n }, limit: 500, rest, now });
    const broken = await retainedPulses(db);
    const untouched = await writtenLog();
    await writePulses(untouched, 1n, manyPulses(3_000));
    await compact({ log: openLog(untouched), lag: { events: 0n }, limit: 10_000, rest, now });
    assert.deepEqual(broken, await retainedPulses(untouched));
  });

  it('is done by one of several instances at a time, and each part once', async () => {
    const db = await writtenLog();
    await writePulses(db, 1n, manyPulses(3_000));
    const results = await Promise.all(
      [1, 2, 3].map(() => compact({ log: openLog(db), lag: { events: 0n }, limit: 200, rest, now })),
    );
    const steps = results.reduce((sum, result) => sum + result.steps, 0);
    const dropped = results.reduce((sum, result) => sum + result.dropped, 0);
    assert.equal(steps, 15);
    assert.equal(dropped, 3_000 - (await retainedPulses(db)).length);
  });

  it('stays behind by its lag, in pulses and in time, and never at all when nothing is old enough', async () => {
    const db = await writtenLog();
    const log = openLog(db);
    const same = (count: number) => Array.from({ length: count }, () => ({ key: 'k', feeds: [1] }));
    await writePulses(db, 1n, same(10));
    await compact({ log, lag: { events: 4n }, limit: 100, rest, now });
    assert.deepEqual(
      (await retainedPulses(db)).map(({ seq }) => seq),
      [6n, 7n, 8n, 9n, 10n],
    );
    await db.script(
      `insert into pulsefeed.log_time values (8, now() - interval '2 hours'), (10, now() - interval '30 minutes')`,
    );
    assert.equal((await log.retire({ lag: { seconds: 86_400 }, limit: 100 })).kind, 'idle');
    await compact({ log, lag: { seconds: 3_600 }, limit: 100, rest, now });
    assert.deepEqual(
      (await retainedPulses(db)).map(({ seq }) => seq),
      [8n, 9n, 10n],
    );
  });

  it('runs in the background, also in the embedded database, and answers at once when there is nothing to do', async () => {
    const { path } = await embeddedFolder('embedded');
    for (const db of [await writtenLog(), await embedded(path)]) {
      await writePulses(db, 1n, manyPulses(300));
      const seen: Observation[] = [];
      const log = openLog(db);
      const loop = new CompactionLoop({
        log,
        lag: { events: 0n },
        limit: 100,
        observe: observation => seen.push(observation),
        now,
      });
      loop.start();
      await until('the log to be compact', () =>
        seen.some(one => one.kind === 'Compacted' && one.upTo === 300n),
      );
      await loop.stop();
      assert.ok(seen.every(({ kind }) => kind === 'Compacted'));
      assert.equal((await log.retire({ lag: { events: 0n }, limit: 100 })).kind, 'idle');
      await verify({ db, log, lag: { events: 0n }, limit: 100 });
    }
  });

  it('is refused by its own proof when what it would leave is wrong', async () => {
    const db = await writtenLog();
    await writePulses(db, 1n, manyPulses(300));
    const log = openLog(db);
    const { wouldDrop } = await verify({ db, log, lag: { events: 0n }, limit: 100 });
    assert.ok(wouldDrop > 0 && (await retainedPulses(db)).length === 300, 'it was rehearsed and undone');
    await compact({ log, lag: { events: 0n }, limit: 100, rest, now });
    await db.script(`
insert into pulsefeed.record_state (resource_id, key, vis) select id, 'k1', '{5}' from pulsefeed.resource;
delete from pulsefeed.event_feed p using pulsefeed.entity_event e where e.seq = p.seq and e.key = 'k1';
delete from pulsefeed.entity_event where key = 'k1'`);
    await assert.rejects(
      verify({ db, log, lag: { events: 0n }, limit: 100 }),
      (error: unknown) =>
        error instanceof PulsefeedError &&
        error.code === 'EE-600' &&
        /feed five shows Note k1/.test(error.message),
    );
  });

  it('undoes a step whose check finds a reader told less, and names it', async () => {
    const db = await writtenLog();
    // The newest row of a key goes with every step: what a wrong rule would do.
    await db.script(`
create function newest_only() returns trigger language plpgsql as $$ begin
  delete from pulsefeed.entity_event e where exists (
    select from pulsefeed.entity_event l where l.resource_id = e.resource_id and l.key = e.key and l.seq > e.seq);
  return null;
end $$;
create trigger wrong after delete on pulsefeed.entity_event for each statement when (pg_trigger_depth() = 0)
execute function newest_only()`);
    await writePulses(db, 1n, [
      { key: 'k', feeds: [2] },
      { key: 'k', feeds: [1] },
    ]);
    const retired = openLog(db).retire({ lag: { events: 0n }, limit: 10, check: toldAsBefore });
    await assert.rejects(retired, /EE-600|feed everyone|reading from/);
    assert.equal((await retainedPulses(db)).length, 2);
  });
});

async function embedded(path: string): Promise<Db> {
  const db = await connect({ dataDir: path });
  atTestEnd(() => db.close());
  await fillWrittenLog(db);
  return db;
}

/** Reads to the head in pages of `size` while the log is written, compacting between every two; how many keys it met. */
async function follow(
  log: LogDatabase,
  size: number,
  stopped: { readonly writing: boolean },
): Promise<number> {
  const met = new Set<string>();
  for (let cursor = 0n; ; ) {
    const ended = stopped.writing;
    const page = await log.log.read({ where: { text: 'e.seq > $1', values: [cursor] }, limit: size });
    for (const { key } of page.pulses) met.add(key);
    cursor = page.pulses.length < size ? page.head : (page.pulses.at(-1)?.sequence ?? page.head);
    await log.log.retire({ lag: { events: 0n }, limit: 30 });
    if (ended && page.pulses.length === 0 && met.size === keys) return met.size;
    assert.ok(cursor < 100_000n);
  }
}
