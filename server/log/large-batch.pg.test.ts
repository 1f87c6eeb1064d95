import assert from 'node:assert/strict';
import { drain, type LogDatabase, logDatabase, readAll } from '../../testing/log-database.ts';
import { seededRandom } from '../../testing/seeded-random.ts';
import type { Db, Queryable, Session } from '../base/db/index.ts';

/** A transaction with everything in it: families, a tree of offices, moves, deletes, changed keys. */
const history = [
  `insert into office select 'o' || n, case when n % 5 = 1 then null else 'o' || n - 1 end from generate_series(1, 20) n;
   insert into property select 'p' || n, 'o' || 1 + n % 20 from generate_series(1, 40) n;
   insert into media select 'm' || n, 'p' || 1 + n % 40 from generate_series(1, 60) n;`,
  `insert into media select 'late' || n, 'newest' from generate_series(1, 20) n;
   insert into property values ('newest', 'new');
   insert into office values ('new', 'o1');
   update office set "MainOfficeKey" = 'new' where "OfficeKey" in ('o8', 'o18');
   update media set note = 1 where "MediaKey" in ('m3', 'm33');
   update property set "ListingKey" = 'renamed' where "ListingKey" = 'p7';
   delete from office where "OfficeKey" in ('o2', 'o12');`,
];

/** Works the history off, each transaction by itself, and returns the pulses. */
async function workOff(log: LogDatabase, work: (n: number) => Promise<unknown>): Promise<string[]> {
  for (const [n, transaction] of history.entries()) {
    await log.write(transaction);
    await work(n);
  }
  return log.pulses();
}

/** The same database, with `before` run ahead of every statement of a step. */
function interrupted(db: Db, before: (tx: Queryable) => Promise<void>): Db {
  const session = async (): Promise<Session> => {
    const real = await db.session();
    return {
      close: () => real.close(),
      transaction: (work, options) =>
        real.transaction(tx => {
          if (options === undefined) return work(tx);
          return work({
            async query<Row>(statement: Parameters<Queryable['query']>[0]) {
              await before(tx);
              return tx.query<Row>(statement);
            },
            async script(sql) {
              await before(tx);
              return tx.script(sql);
            },
          });
        }, options),
    };
  };
  return { ...db, session };
}

describe('a transaction larger than a batch', () => {
  let expected: string[];

  before(async () => {
    const log = await logDatabase();
    const sequencer = log.sequencer();
    expected = await workOff(log, async () => {
      const outcomes = await drain(sequencer);
      assert.equal(outcomes.length, 1, 'one step each');
    });
    assert.ok(expected.length > 150);
  });

  for (const batchSize of [3, 7, 50]) {
    it(`is numbered in steps of ${batchSize} as it is in one`, async () => {
      const log = await logDatabase();
      const pulses = await workOff(log, async () => {
        const outcomes = await drain(log.sequencer({ batchSize }));
        assert.ok(outcomes.length > 1);
        for (const outcome of outcomes) {
          assert.ok(
            outcome.kind === 'numbered' && outcome.pulses <= batchSize && outcome.changes <= batchSize,
          );
        }
      });
      assert.deepEqual(pulses, expected);
    });
  }

  it('is gone on with by another sequencer after every step', async () => {
    const log = await logDatabase();
    const pulses = await workOff(log, async () => {
      for (let more = true; more; ) {
        const sequencer = log.sequencer({ batchSize: 13 });
        more = (await sequencer.step()).kind === 'numbered';
        await sequencer.close();
      }
    });
    assert.deepEqual(pulses, expected);
  });

  it('is numbered the same when the backend is ended at every third statement or so', async () => {
    const log = await logDatabase();
    const random = seededRandom();
    let kills = 0;
    const fatal = interrupted(log.db, async tx => {
      if (random.below(8) > 0) return;
      kills++;
      await tx.query({ text: 'select pg_terminate_backend(pg_backend_pid())' });
    });
    const pulses = await workOff(log, async () => {
      const sequencer = log.sequencer({ batchSize: 13 }, fatal);
      for (let more = true; more; ) {
        more = await sequencer.step().then(
          outcome => outcome.kind === 'numbered',
          () => true,
        );
      }
    });
    assert.ok(kills > 10, `${kills} kills with ${random.seed}`);
    assert.deepEqual(pulses, expected, random.seed);
    assert.equal((await log.log.head()).head, BigInt(expected.length));
  });

  it('comes whole before what other transactions commit while it is worked off', async () => {
    const log = await logDatabase();
    const sequencer = log.sequencer({ batchSize: 7 });
    await log.write(`insert into showing select n, 0 from generate_series(1, 50) n`);
    let meanwhile = 0;
    for (let more = true; more; meanwhile++) {
      // Between any two steps others commit, among them a change of a record that the large batch holds.
      if (meanwhile < 40) {
        await log.write(
          `insert into office values ('w${meanwhile}', null); update showing set note = 1 where "ShowingId" = 50`,
        );
      }
      more = (await sequencer.step()).kind === 'numbered';
    }
    const pulses = await log.pulses();
    const large = Array.from({ length: 50 }, (_, n) => `Showing/${n + 1}`);
    assert.deepEqual(pulses.slice(0, 50), large);
    assert.ok(pulses.lastIndexOf('Showing/50') > 50);
    assert.equal(pulses.filter(pulse => pulse.startsWith('Office/')).length, 40);
  });

  it('lets the last report of a record decide, though its parts were taken in different steps', async () => {
    const log = await logDatabase();
    const reports = (key: string, op: 'upsert' | 'delete') => ({ resource: 'Note', key, op }) as const;
    await log.log.append(undefined, [reports('went', 'upsert'), reports('stayed', 'upsert')]);
    await drain(log.sequencer());
    const others = Array.from({ length: 20 }, (_, n) => reports(`n${n}`, 'upsert'));
    await log.log.append(undefined, [
      ...[reports('went', 'upsert'), reports('stayed', 'delete'), reports('passed', 'upsert')],
      ...others,
      ...[reports('went', 'delete'), reports('stayed', 'upsert'), reports('passed', 'delete')],
    ]);
    await drain(log.sequencer({ batchSize: 7 }));
    assert.deepEqual((await log.pulses()).slice(2), [
      ...others.map(({ key }) => `Note/${key}`),
      ...['Note/stayed', 'Note/went'],
    ]);
    const [known] = await log.db.query<{ keys: string[] }>({
      text: `select array_agg(key order by key) as keys from pulsefeed.record_state where key !~ '^n'`,
    });
    assert.deepEqual(known?.keys, ['stayed']);
  });

  it('is seen by readers as a growing prefix of itself', async () => {
    const log = await logDatabase();
    const sequencer = log.sequencer({ batchSize: 7 });
    await log.write(history[0] ?? '');
    for (let more = true; more; ) {
      more = (await sequencer.step()).kind === 'numbered';
      const { head } = await log.log.head();
      const seen = await log.pulses();
      assert.equal(BigInt(seen.length), head);
      assert.deepEqual(seen, expected.slice(0, seen.length));
    }
  });
});

describe('a TRUNCATE of a large table', () => {
  const records = 10_000;
  const batchSize = Number(process.env.PULSEFEED_TORTURE_TRUNCATE_BATCH ?? 500);

  it(`pulses each of ${records} records once, in steps of ${batchSize} at most`, async () => {
    const log = await logDatabase();
    await log.write(`insert into showing select n, 0 from generate_series(1, ${records}) n`);
    await drain(log.sequencer());
    // 1. The table is emptied. 2. While that is worked off, some records come back.
    await log.write('truncate showing');
    const sequencer = log.sequencer({ batchSize });
    await sequencer.step();
    await sequencer.step();
    await log.write('insert into showing values (1), (5000), (10001)');
    for (const outcome of await drain(sequencer)) {
      assert.ok(outcome.kind === 'numbered' && outcome.pulses <= batchSize);
    }
    const pulses = await readAll(log.log, BigInt(records));
    const keys = pulses.map(({ key }) => key);
    assert.equal(new Set(keys).size, records + 1);
    assert.ok(keys.length <= records + 3, 'those that came back are pulsed again');
    assert.deepEqual(
      await log.db.query({ text: 'select key from pulsefeed.record_state order by key', rowMode: 'array' }),
      [['1'], ['10001'], ['5000']],
    );
  });

  it('is nothing when no record is known', async () => {
    const log = await logDatabase();
    await log.write('truncate showing');
    await drain(log.sequencer());
    assert.equal((await log.log.head()).head, 0n);
  });
});
