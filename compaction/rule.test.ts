import assert from 'node:assert/strict';
import fc from 'fast-check';
import { type KeyPulse, losses } from './rule.ts';

const runs = 10_000;
const feeds = [1, 2, 3, 4, 5] as const;
const keys = ['a', 'b', 'c'] as const;
const mostSteps = 60;

interface Pulse extends KeyPulse {
  readonly key: string;
}

type Act =
  | { readonly kind: 'write'; readonly key: string; readonly feeds: readonly number[] }
  | { readonly kind: 'read'; readonly reader: number; readonly size: number }
  | { readonly kind: 'compact'; readonly lag: number };

const someAct: fc.Arbitrary<Act> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('write' as const),
      key: fc.constantFrom(...keys),
      feeds: fc.subarray([...feeds], { minLength: 1, maxLength: 3 }),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('read' as const),
      reader: fc.nat(3),
      size: fc.integer({ min: 1, max: 3 }),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant('compact' as const), lag: fc.constantFrom(0, 0, 1, 4) }),
  },
);
const someHistory = fc.record({
  acts: fc.array(someAct, { maxLength: mostSteps }),
  held: fc.array(fc.subarray([...feeds], { minLength: 1 }), { minLength: 4, maxLength: 4 }),
});
type History = typeof someHistory extends fc.Arbitrary<infer T> ? T : never;

/** A way to compact all pulses up to a number. */
type Compactor = (log: readonly Pulse[], upTo: bigint) => Pulse[];

const byTheRule: Compactor = (log, upTo) => {
  const settled = log.filter(pulse => pulse.sequence <= upTo);
  const lost = new Map(keys.flatMap(key => [...losses(settled.filter(pulse => pulse.key === key))]));
  return log
    .map(pulse => ({
      ...pulse,
      feeds: new Set([...pulse.feeds].filter(feed => lost.get(pulse.sequence)?.has(feed) !== true)),
    }))
    .filter(pulse => pulse.feeds.size > 0);
};

/** The rule of the textbook, which is right where everybody sees everything. */
const newestRowPerKey: Compactor = (log, upTo) =>
  log.filter(
    pulse =>
      !log.some(
        later => later.key === pulse.key && later.sequence > pulse.sequence && later.sequence <= upTo,
      ),
  );

/** A consumer's copy: the number of the change that it last fetched of each key. */
interface Reader {
  readonly holds: readonly number[];
  cursor: bigint;
  readonly copy: Map<string, bigint>;
}

const sees = (holds: readonly number[], pulse: Pulse) => holds.some(feed => pulse.feeds.has(feed));

/** For each key the last pulse that tells the holder of these feeds of it. */
function lastTold(log: readonly Pulse[], holds: readonly number[]): Map<string, bigint> {
  return new Map(log.filter(pulse => sees(holds, pulse)).map(({ key, sequence }) => [key, sequence]));
}

function readPage(reader: Reader, log: readonly Pulse[], written: readonly Pulse[], size: number): boolean {
  const page = log
    .filter(pulse => pulse.sequence > reader.cursor && sees(reader.holds, pulse))
    .slice(0, size);
  // It fetches the record as it is now, and so has every change so far.
  const now = lastTold(written, reader.holds);
  for (const { key } of page) reader.copy.set(key, now.get(key) ?? 0n);
  const before = reader.cursor;
  reader.cursor =
    page.length < size ? BigInt(written.length) : (page.at(-1)?.sequence ?? BigInt(written.length));
  return reader.cursor > before;
}

/** The log that a history leaves, after every reader's copy was found equal to what all that was written says. */
function live({ acts, held }: History, compactor: Compactor): { written: Pulse[]; log: Pulse[] } {
  const written: Pulse[] = [];
  let log: Pulse[] = [];
  const readers: Reader[] = held.map(holds => ({ holds, cursor: 0n, copy: new Map() }));
  for (const act of acts) {
    if (act.kind === 'compact') log = compactor(log, BigInt(written.length - act.lag));
    else if (act.kind === 'write') {
      const sequence = BigInt(written.length + 1);
      const pulse = { sequence, key: act.key, feeds: new Set(act.feeds) };
      written.push(pulse);
      log.push(pulse);
    } else {
      const reader = readers[act.reader];
      if (reader !== undefined) readPage(reader, log, written, act.size);
    }
  }
  for (const reader of readers) {
    while (readPage(reader, log, written, 100));
    assert.deepEqual([...reader.copy].sort(), [...lastTold(written, reader.holds)].sort());
  }
  return { written, log };
}

describe('the rule of compaction, in words', () => {
  it('gives every reader the end that the whole log gives, wherever it came between pages', function () {
    this.timeout(60_000);
    fc.assert(
      fc.property(someHistory, history => void live(history, byTheRule)),
      { numRuns: runs },
    );
  });

  it('tells of the same records from every cursor, in every feed', () => {
    fc.assert(
      fc.property(someHistory, history => {
        const { written } = live(history, byTheRule);
        const log = byTheRule(written, BigInt(written.length));
        for (const feed of feeds)
          assert.deepEqual([...lastTold(log, [feed])].sort(), [...lastTold(written, [feed])].sort());
      }),
      { numRuns: 2_000 },
    );
  });

  it('leaves at most one pulse a record and feed, and no fewer', () => {
    fc.assert(
      fc.property(someHistory, history => {
        const { written } = live(history, byTheRule);
        const log = byTheRule(written, BigInt(written.length));
        const pairs = (pulses: readonly Pulse[]) =>
          pulses.flatMap(({ key, feeds: seen }) => [...seen].map(feed => `${key} ${feed}`)).sort();
        assert.deepEqual(pairs(log), [...new Set(pairs(written))]);
      }),
      { numRuns: 2_000 },
    );
  });

  it('would be found wrong if it kept the newest row of each key', () => {
    const property = fc.property(someHistory, history => void live(history, newestRowPerKey));
    assert.ok(fc.check(property, { numRuns: 1_000, endOnFailure: true }).failed);
  });
});
