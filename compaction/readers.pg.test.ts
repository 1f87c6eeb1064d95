import assert from 'node:assert/strict';
import fc from 'fast-check';
import { connect, type Db } from '../server/base/db/index.ts';
import { openLog } from '../server/log/index.ts';
import { atRunEnd } from '../testing/cleanup.ts';
import { testDatabase } from '../testing/postgres.ts';
import {
  allFeeds,
  buildWrittenLog,
  emptyWrittenLog,
  narrowFeeds,
  privateFeeds,
  retainedPulses,
  sharedFeeds,
  type WrittenPulse,
  writePulses,
} from '../testing/written-log.ts';

const runs = Number(process.env.PULSEFEED_TORTURE_COMPACTION_RUNS ?? 40);
const holdable = [...sharedFeeds, ...narrowFeeds];

type Act =
  | { readonly kind: 'write'; readonly pulses: readonly WrittenPulse[] }
  | { readonly kind: 'read'; readonly reader: number; readonly size: number }
  | { readonly kind: 'compact'; readonly lag: number; readonly limit: number };

const somePulse = fc.record({
  key: fc.constantFrom('a', 'b', 'c'),
  feeds: fc.subarray([...allFeeds], { minLength: 1, maxLength: 4 }),
});
const someAct: fc.Arbitrary<Act> = fc.oneof(
  fc.record({
    kind: fc.constant('write' as const),
    pulses: fc.array(somePulse, { minLength: 1, maxLength: 6 }),
  }),
  fc.record({ kind: fc.constant('read' as const), reader: fc.nat(2), size: fc.integer({ min: 1, max: 3 }) }),
  fc.record({
    kind: fc.constant('compact' as const),
    lag: fc.constantFrom(0, 0, 2, 5),
    limit: fc.integer({ min: 1, max: 8 }),
  }),
);
const someHistory = fc.record({
  acts: fc.array(someAct, { maxLength: 25 }),
  held: fc.tuple(fc.subarray(holdable), fc.subarray(holdable)),
});
type History = typeof someHistory extends fc.Arbitrary<infer T> ? T : never;

/** A copy that holds, for each record, the number of the last pulse that the reader was to hear of when it fetched. */
interface Reader {
  readonly holds: readonly number[];
  cursor: bigint;
  readonly copy: Map<string, bigint>;
}

type Compactor = (db: Db, lag: number, limit: number) => Promise<void>;

const asWritten: Compactor = async (db, lag, limit) => {
  const log = openLog(db);
  // A few steps, not all: the next page is read from a log that is compact in part.
  for (let step = 0; step < 3; step += 1) await log.retire({ lag: { events: BigInt(lag) }, limit });
};

/** The rule of the textbook, which is right where everybody sees everything. */
const newestRowPerKey: Compactor = async db => {
  await db.script(`
delete from pulsefeed.entity_event e using pulsefeed.entity_event l
where l.resource_id = e.resource_id and l.key = e.key and l.seq > e.seq;
delete from pulsefeed.event_feed p where not exists (select from pulsefeed.entity_event e where e.seq = p.seq)`);
};

describe('readers of a log that is being compacted', () => {
  let db: Db;

  before(async () => {
    const { url, drop } = await testDatabase({ template: buildWrittenLog, name: 'written' });
    db = await connect({ databaseUrl: url, dataDir: '', poolSize: 4 });
    atRunEnd(async () => {
      await db.close();
      await drop();
    });
  });

  it('end with the copy that the whole log gives them, wherever compaction came between their pages', async function () {
    this.timeout(runs * 1_000 + 10_000);
    await fc.assert(
      fc.asyncProperty(someHistory, history => live(db, history, asWritten)),
      { numRuns: runs },
    );
  });

  it('are stranded when the newest row of each key is kept', async () => {
    const property = fc.asyncProperty(someHistory, history => live(db, history, newestRowPerKey));
    const result = await fc.check(property, { numRuns: 200, endOnFailure: true });
    assert.ok(result.failed, 'the test would not notice a wrong rule');
  });

  it('hear of a record that they lost and that changed 100 times unseen, once, and not of the 100', async () => {
    await emptyWrittenLog(db, [[1], [2]], { a: [2] });
    await writePulses(db, 1n, [
      { key: 'a', feeds: [1, 2] },
      { key: 'b', feeds: [1] },
      // The record leaves feed 1.
      { key: 'a', feeds: [1] },
      ...Array.from({ length: 100 }, () => ({ key: 'a', feeds: [2] })),
    ]);
    await openLog(db).retire({ lag: { events: 0n }, limit: 1_000 });
    assert.deepEqual(await retainedPulses(db), [
      { seq: 2n, key: 'b', feeds: [1] },
      { seq: 3n, key: 'a', feeds: [1] },
      { seq: 103n, key: 'a', feeds: [2] },
    ]);
    const told = async (feed: number, from: bigint) =>
      (await page(db, [feed], from, 100)).pulses.map(p => p.sequence);
    assert.deepEqual(await told(1, 0n), [2n, 3n]);
    assert.deepEqual(await told(1, 1n), [2n, 3n]);
    assert.deepEqual(await told(1, 3n), []);
    assert.deepEqual(await told(2, 50n), [103n]);
  });

  it('keep a private pulse until a feed that shows the record has a later one', async () => {
    // Consumer a holds 1 and 4; the record is in 4 alone and left 1 last: were 1 revoked, nothing would tell of it again.
    await emptyWrittenLog(db, [[1, 4], []], { a: [4] });
    await writePulses(db, 1n, [
      { key: 'a', feeds: [4] },
      { key: 'a', feeds: [6] },
      { key: 'a', feeds: [1] },
    ]);
    await openLog(db).retire({ lag: { events: 0n }, limit: 1_000 });
    assert.deepEqual(
      (await retainedPulses(db)).map(({ seq }) => seq),
      [1n, 2n, 3n],
    );
    await writePulses(db, 4n, [{ key: 'a', feeds: [4] }]);
    await openLog(db).retire({ lag: { events: 0n }, limit: 1_000 });
    assert.deepEqual(
      (await retainedPulses(db)).map(({ seq }) => seq),
      [3n, 4n],
    );
  });
});

function page(db: Db, holds: readonly number[], after: bigint, limit: number) {
  return openLog(db).read({
    where: { text: 'e.seq > $1', values: [after] },
    above: after,
    held: parameter => ({ text: `select unnest($${parameter}::integer[])`, values: [[...holds]] }),
    limit,
  });
}

/** Lives through a history and compares every reader's copy with what all that was ever written says. */
async function live(db: Db, { acts, held }: History, compactor: Compactor): Promise<void> {
  await emptyWrittenLog(db, held, {});
  const written: WrittenPulse[] = [];
  const readers: Reader[] = [[1], ...privateFeeds.map((feed, index) => [...(held[index] ?? []), feed])].map(
    holds => ({ holds, cursor: 0n, copy: new Map() }),
  );
  const read = async (reader: Reader, size: number): Promise<boolean> => {
    const { pulses, head } = await page(db, reader.holds, reader.cursor, size);
    const truth = lastTold(written, reader.holds);
    for (const { key } of pulses) reader.copy.set(key, truth.get(key) ?? 0n);
    const before = reader.cursor;
    reader.cursor = pulses.length < size ? head : (pulses.at(-1)?.sequence ?? head);
    return reader.cursor > before;
  };
  for (const act of acts) {
    if (act.kind === 'write') {
      await writePulses(db, BigInt(written.length + 1), act.pulses);
      written.push(...act.pulses);
    } else if (act.kind === 'compact') await compactor(db, act.lag, act.limit);
    else {
      const reader = readers[act.reader];
      if (reader !== undefined) await read(reader, act.size);
    }
  }
  for (const reader of readers) {
    while (await read(reader, 100));
    assert.deepEqual([...reader.copy].sort(), [...lastTold(written, reader.holds)].sort());
  }
}

function lastTold(written: readonly WrittenPulse[], holds: readonly number[]): Map<string, bigint> {
  const last = new Map<string, bigint>();
  written.forEach(({ key, feeds }, index) => {
    if (feeds.some(feed => holds.includes(feed))) last.set(key, BigInt(index + 1));
  });
  return last;
}
