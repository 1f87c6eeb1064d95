import assert from 'node:assert/strict';
import { connect, type Db } from '../server/base/db/index.ts';
import type { Observation } from '../server/base/observe.ts';
import { isSwept, openLog, retireFromStart, sweep } from '../server/log/index.ts';
import { atTestEnd } from '../testing/cleanup.ts';
import { testDatabase } from '../testing/postgres.ts';
import { seededRandom } from '../testing/seeded-random.ts';
import { until } from '../testing/until.ts';
import {
  allFeeds,
  buildWrittenLog,
  emptyWrittenLog,
  type RetainedPulse,
  retainedPulses,
  writePulses,
} from '../testing/written-log.ts';
import { buildFilledLog, digestOfLog, filledPulses } from './cases/filled-log.ts';
import { CompactionLoop, compact, defaultCompactionPace, toldAsBefore } from './index.ts';

const now = () => performance.now();
const rest = async () => undefined;
const cursors = 10_000;

async function writtenLog(build = buildWrittenLog): Promise<Db> {
  const { url, drop } = await testDatabase({ template: build, name: build.name });
  atTestEnd(drop);
  const db = await connect({ databaseUrl: url, dataDir: '', poolSize: 6, applicationName: 'under-test' });
  atTestEnd(() => db.close());
  if (build === buildWrittenLog) await emptyWrittenLog(db, [], {});
  return db;
}

/** Pulses of random records for random feeds. */
function somePulses(count: number, keys: number) {
  const random = seededRandom();
  return Array.from({ length: count }, () => ({
    key: `k${random.below(keys)}`,
    feeds: allFeeds.filter(feed => random.below(feed < 4 ? 2 : 6) === 0),
  })).map(pulse => (pulse.feeds.length === 0 ? { ...pulse, feeds: [1] } : pulse));
}

const watermark = async (db: Db) =>
  (await db.query<{ done_seq: bigint }>({ text: 'select done_seq from pulsefeed.compaction' }))[0]?.done_seq;

const newestFirst = (log: readonly RetainedPulse[]) => [...log].reverse();

describe('a sweep', () => {
  it(`tells each of ${cursors} readers at random places of the records it told of before`, async () => {
    const db = await writtenLog();
    await writePulses(db, 1n, somePulses(600, 30));
    const before = newestFirst(await retainedPulses(db));
    assert.equal(await sweep({ db, target: 600n, rest, now, rows: 70, parts: 2 }), 'swept');
    const after = newestFirst(await retainedPulses(db));
    assert.ok(after.length < before.length / 2);
    const random = seededRandom();
    for (let turn = 0; turn < cursors; turn += 1) {
      const holds = allFeeds.filter(() => random.below(3) === 0);
      const cursor = BigInt(random.below(601));
      const told = (log: readonly RetainedPulse[]) => {
        const keys = new Set<string>();
        for (const { seq, key, feeds } of log) {
          if (seq <= cursor) break;
          if (feeds.some(feed => holds.includes(feed as (typeof allFeeds)[number]))) keys.add(key);
        }
        return [...keys].sort().join();
      };
      assert.equal(told(after), told(before), `${holds} from ${cursor}; ${random.seed}`);
    }
  });

  it('leaves of a record that left a feed and changed 100 times unseen what each feed needs', async () => {
    const db = await writtenLog();
    await writePulses(db, 1n, [
      { key: 'a', feeds: [1, 2, 4] },
      { key: 'b', feeds: [1] },
      // The record leaves feeds 1 and 4.
      { key: 'a', feeds: [1, 4] },
      ...Array.from({ length: 100 }, () => ({ key: 'a', feeds: [2] })),
    ]);
    await sweep({ db, target: 103n, rest, now });
    assert.deepEqual(await retainedPulses(db), [
      { seq: 2n, key: 'b', feeds: [1] },
      { seq: 3n, key: 'a', feeds: [1, 4] },
      { seq: 103n, key: 'a', feeds: [2] },
    ]);
  });

  it('neither drops nor counts as a cover what is above its target', async () => {
    const db = await writtenLog();
    await writePulses(
      db,
      1n,
      Array.from({ length: 10 }, () => ({ key: 'a', feeds: [1] })),
    );
    assert.equal(await sweep({ db, target: 6n, rest, now, rows: 2 }), 'swept');
    assert.deepEqual(
      (await retainedPulses(db)).map(({ seq }) => seq),
      [6n, 7n, 8n, 9n, 10n],
    );
    assert.equal(await watermark(db), 6n);
    assert.equal(await sweep({ db, target: 6n, rest, now }), 'idle');
  });

  it('is done by one session at a time, and is seen by those that would step', async () => {
    const db = await writtenLog();
    await writePulses(db, 1n, somePulses(100, 10));
    const seen: unknown[] = [];
    const look = async () => {
      seen.push(await sweep({ db, target: 100n, rest, now }), await isSwept(db));
    };
    assert.equal(await sweep({ db, target: 100n, rest: look, now, parts: 1 }), 'swept');
    assert.deepEqual([...new Set(seen)], ['standby', true]);
    assert.equal(await isSwept(db), false);
  });

  it('does its work and moves the watermark while others step', async () => {
    const [db, untouched] = [await writtenLog(), await writtenLog()];
    const pulses = somePulses(600, 30);
    for (const log of [db, untouched]) await writePulses(log, 1n, pulses);
    const step = async () => void (await openLog(db).retire({ lag: { events: 0n }, limit: 20 }));
    assert.equal(await sweep({ db, target: 600n, rest: step, now, rows: 60, parts: 3 }), 'swept');
    assert.equal(await watermark(db), 600n);
    await sweep({ db: untouched, target: 600n, rest, now });
    assert.deepEqual(await retainedPulses(db), await retainedPulses(untouched));
  });

  it('does not forget a full pass that was asked for meanwhile', async () => {
    const db = await writtenLog();
    await writePulses(db, 1n, somePulses(100, 10));
    await openLog(db).retire({ lag: { events: 0n }, limit: 20 });
    const asked = { yet: false };
    const ask = async () => {
      if (!asked.yet) await retireFromStart(db);
      asked.yet = true;
    };
    assert.equal(await sweep({ db, target: 100n, rest: ask, now }), 'overtaken');
    assert.equal(await watermark(db), 0n);
  });

  it('leaves a pulse as another compactor narrowed it while the plan waited', async () => {
    const db = await writtenLog();
    await writePulses(db, 1n, [
      { key: 'a', feeds: [1, 2, 4] },
      { key: 'a', feeds: [2] },
    ]);
    let rests = 0;
    const ended = await sweep({
      db,
      target: 2n,
      now,
      parts: 1,
      async rest() {
        rests += 1;
        // 1. The plan is made: 1 is to keep feeds 1 and 4. 2. A later pulse has feed 4, and a step takes it from 1.
        if (rests !== 2) return;
        await writePulses(db, 3n, [{ key: 'a', feeds: [4] }]);
        assert.equal((await openLog(db).retire({ lag: { events: 0n }, limit: 10 })).kind, 'retired');
      },
    });
    // 3. The sweep comes to it, and the watermark stays where the step left it.
    assert.equal(ended, 'swept');
    assert.equal(await watermark(db), 3n);
    assert.deepEqual(await retainedPulses(db), [
      { seq: 1n, key: 'a', feeds: [1] },
      { seq: 2n, key: 'a', feeds: [2] },
      { seq: 3n, key: 'a', feeds: [4] },
    ]);
  });

  it('stops between two transactions, what it did stays, and steps go on from there', async () => {
    const [db, untouched] = [await writtenLog(), await writtenLog()];
    const pulses = somePulses(1_000, 50);
    for (const log of [db, untouched]) await writePulses(log, 1n, pulses);
    const stop = new AbortController();
    let parts = 0;
    const onPart = () => {
      parts += 1;
      if (parts === 3) stop.abort();
    };
    const options = { target: 1_000n, rest, now, rows: 100 };
    assert.equal(await sweep({ ...options, db, signal: stop.signal, onPart }), 'stopped');
    // Rows are narrowed one transaction after they were dropped: the watermark stands where both are done.
    assert.equal(await watermark(db), 200n);
    assert.equal(await isSwept(db), false);
    await compact({ log: openLog(db), lag: { events: 0n }, limit: 100, rest, now });
    await sweep({ ...options, db: untouched });
    assert.deepEqual(await retainedPulses(db), await retainedPulses(untouched));
  });

  it('passes the check of each of its transactions, and is undone by one that a reader would notice', async () => {
    const db = await writtenLog();
    await writePulses(db, 1n, somePulses(1_000, 50));
    assert.equal(await sweep({ db, target: 1_000n, rest, now, rows: 200, check: toldAsBefore }), 'swept');
    await emptyWrittenLog(db, [], {});
    await writePulses(db, 1n, [
      { key: 'k', feeds: [2] },
      { key: 'k', feeds: [1] },
    ]);
    await db.script(`
create function lose() returns trigger language plpgsql as $$ begin
  delete from pulsefeed.entity_event where seq = 1;
  return null;
end $$;
create trigger wrong after delete on pulsefeed.entity_event for each statement when (pg_trigger_depth() = 0)
execute function lose()`);
    await assert.rejects(sweep({ db, target: 2n, rest, now, check: toldAsBefore }), /reading from/);
    assert.equal((await retainedPulses(db)).length, 2);
  });

  it('is what a run and the loop choose for a large backlog, with the result of the steps', async function () {
    this.timeout(60_000);
    const [db, looped] = [await writtenLog(buildFilledLog), await writtenLog(buildFilledLog)];
    const log = openLog(db);
    const run = () => compact({ db, log, lag: { events: 5n }, limit: 1_000, rest, now });
    const result = await run();
    assert.ok(result.steps < 10, `${result.steps} transactions: it was done step by step`);
    assert.equal(result.upTo, BigInt(filledPulses - 5));
    assert.equal((await run()).steps, 0);
    const seen: Observation[] = [];
    const loop = new CompactionLoop({
      db: looped,
      log: openLog(looped),
      lag: { events: 5n },
      limit: 1_000,
      observe: observation => seen.push(observation),
      now,
      pace: { ...defaultCompactionPace, restFactor: 0 },
    });
    loop.start();
    await until(
      'the loop to be done',
      () => seen.some(one => one.kind === 'Compacted' && one.upTo === BigInt(filledPulses - 5)),
      { withinMs: 30_000 },
    );
    await loop.stop();
    assert.ok(seen.length < 10 && seen.every(({ kind }) => kind === 'Compacted'));
    assert.equal(await digestOfLog(looped), await digestOfLog(db));
    await retireFromStart(db);
    const again = await compact({ log, lag: { events: 5n }, limit: 20_000, rest, now });
    assert.deepEqual([again.dropped, again.narrowed], [0, 0], 'the steps find nothing that the sweep left');
  });
});
