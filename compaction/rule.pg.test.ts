import assert from 'node:assert/strict';
import fc from 'fast-check';
import { connect, type Db } from '../server/base/db/index.ts';
import { openLog, retireFromStart, sweep } from '../server/log/index.ts';
import { atRunEnd } from '../testing/cleanup.ts';
import { testDatabase } from '../testing/postgres.ts';
import {
  allFeeds,
  buildWrittenLog,
  emptyWrittenLog,
  narrowFeeds,
  privateFeeds,
  type RetainedPulse,
  retainedPulses,
  sharedFeeds,
  type WrittenPulse,
  writePulses,
} from '../testing/written-log.ts';
import { losses } from './rule.ts';

const runs = Number(process.env.PULSEFEED_TORTURE_COMPACTION_RUNS ?? 40);
const keys = ['a', 'b', 'c'];
const holdable = [...sharedFeeds, ...narrowFeeds];

interface Case {
  readonly pulses: readonly WrittenPulse[];
  readonly held: readonly (readonly number[])[];
  readonly vis: Readonly<Record<string, readonly number[]>>;
  readonly limits: readonly number[];
}

const someCase: fc.Arbitrary<Case> = fc.record({
  pulses: fc.array(
    fc.record({ key: fc.constantFrom(...keys), feeds: fc.subarray([...allFeeds], { minLength: 1 }) }),
    { maxLength: 30 },
  ),
  held: fc.tuple(fc.subarray(holdable), fc.subarray(holdable)),
  vis: fc.record({ a: fc.subarray(holdable), b: fc.subarray(holdable) }),
  limits: fc.array(fc.integer({ min: 1, max: 12 }), { minLength: 1, maxLength: 3 }),
});

describe('the rule of compaction', () => {
  let db: Db;

  before(async () => {
    const { url, drop } = await testDatabase({ template: buildWrittenLog, name: 'written' });
    db = await connect({ databaseUrl: url, dataDir: '', poolSize: 4 });
    atRunEnd(async () => {
      await db.close();
      await drop();
    });
  });

  /** Compacts to the head in steps of these sizes. */
  async function compact(limits: readonly number[]): Promise<void> {
    for (let step = 0; ; step += 1) {
      const outcome = await openLog(db).retire({
        lag: { events: 0n },
        limit: limits[step % limits.length] ?? 1,
      });
      if (outcome.kind === 'idle') return;
      assert.equal(outcome.kind, 'retired');
    }
  }

  it('says the same in SQL, in steps of any size, as in words for the whole log', async function () {
    this.timeout(runs * 1_000 + 10_000);
    await fc.assert(
      fc.asyncProperty(someCase, async ({ pulses, held, vis, limits }) => {
        await emptyWrittenLog(db, held, vis);
        await writePulses(db, 1n, pulses);
        await compact(limits);
        assert.deepEqual(await retainedPulses(db), inWords(pulses, held, vis));
      }),
      { numRuns: runs },
    );
  });

  it('says the same in a sweep of any parts, after any steps, as in words for the whole log', async function () {
    this.timeout(runs * 1_000 + 10_000);
    const ways = fc.record({ rows: fc.integer({ min: 1, max: 12 }), parts: fc.integer({ min: 1, max: 3 }) });
    await fc.assert(
      fc.asyncProperty(someCase, ways, fc.nat(30), async ({ pulses, held, vis, limits }, way, first) => {
        await emptyWrittenLog(db, held, vis);
        await writePulses(db, 1n, pulses.slice(0, first));
        await compact(limits);
        await writePulses(db, BigInt(first + 1), pulses.slice(first));
        const target = BigInt(pulses.length);
        const ended = await sweep({ db, target, ...way, rest: async () => undefined, now: () => 0 });
        assert.equal(ended, pulses.length > Math.min(first, pulses.length) ? 'swept' : 'idle');
        assert.deepEqual(await retainedPulses(db), inWords(pulses, held, vis));
        assert.equal((await openLog(db).retire({ lag: { events: 0n }, limit: 1 })).kind, 'idle');
      }),
      { numRuns: runs },
    );
  });

  it('holds when others write, step and ask for a full pass while a sweep waits with its plan', async function () {
    this.timeout(runs * 1_000 + 10_000);
    const others = fc.array(fc.constantFrom('step', 'write', 'restart', 'nothing'), { maxLength: 12 });
    const ways = fc.record({ rows: fc.integer({ min: 1, max: 12 }), parts: fc.integer({ min: 1, max: 3 }) });
    await fc.assert(
      fc.asyncProperty(someCase, ways, others, async ({ pulses, held, vis, limits }, way, acts) => {
        await emptyWrittenLog(db, held, vis);
        const first = pulses.slice(0, 15);
        await writePulses(db, 1n, first);
        let written = first.length;
        let acted = 0;
        await sweep({
          db,
          target: BigInt(first.length),
          ...way,
          now: () => 0,
          // Called between any two of its transactions.
          async rest() {
            const act = acts[acted++];
            if (act === 'restart') await retireFromStart(db);
            else if (act === 'step') await openLog(db).retire({ lag: { events: 0n }, limit: limits[0] ?? 1 });
            else if (act === 'write') {
              await writePulses(db, BigInt(written + 1), pulses.slice(written, written + 3));
              written = Math.min(pulses.length, written + 3);
            }
          },
        });
        await compact(limits);
        assert.deepEqual(await retainedPulses(db), inWords(pulses.slice(0, written), held, vis));
      }),
      { numRuns: runs },
    );
  });
});

/** The log that the rule in words leaves. */
function inWords(
  pulses: readonly WrittenPulse[],
  held: Case['held'],
  vis: Case['vis'],
): readonly RetainedPulse[] {
  const all = pulses.map(({ key, feeds }, index) => ({
    sequence: BigInt(index + 1),
    key,
    feeds: new Set(feeds),
  }));
  return keys
    .flatMap(key => {
      const own = all.filter(pulse => pulse.key === key);
      const covered = new Map(
        privateFeeds.map((feed, index) => {
          const holds = held[index] ?? [];
          const showing = holds.filter(other => vis[key]?.includes(other) === true);
          return [feed, new Set<number>(showing.length > 0 ? showing : holds)];
        }),
      );
      const lost = losses(own, covered);
      return own.map(({ sequence, feeds }) => ({
        seq: sequence,
        key,
        feeds: [...feeds].filter(feed => lost.get(sequence)?.has(feed) !== true).sort((a, b) => a - b),
      }));
    })
    .filter(({ feeds }) => feeds.length > 0)
    .sort((a, b) => (a.seq < b.seq ? -1 : 1));
}
