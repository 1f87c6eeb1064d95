import assert from 'node:assert/strict';
import { openSession } from '../../testing/gates.ts';
import { drain, gateAt, type LogDatabase, logDatabase, readAll } from '../../testing/log-database.ts';
import { testDatabase } from '../../testing/postgres.ts';

/** A reader that pages on from its last number and keeps what it was served. */
function reader({ log }: LogDatabase) {
  const seen: string[] = [];
  let cursor = 0n;
  return {
    seen,
    async page(): Promise<string[]> {
      const pulses = await readAll(log, cursor);
      const keys = pulses.map(({ key }) => key);
      for (const { sequence } of pulses) {
        assert.ok(sequence > cursor, `${sequence} after ${cursor}`);
        cursor = sequence;
      }
      seen.push(...keys);
      return keys;
    },
  };
}

const change = (key: string) =>
  `insert into pulsefeed.record_change (op, resource, key) values ('u', 'Note', '${key}')`;

describe('the sequencer among concurrent writers', () => {
  it('gives a reader both changes when the one with the lower outbox id commits last', async () => {
    const log = await logDatabase();
    const [a, b, sequencer, consumer] = [
      await openSession(log.url),
      await openSession(log.url),
      log.sequencer(),
      reader(log),
    ];
    // 1. A takes an outbox row and stays open.
    await a.begin();
    await a.run(change('A'));
    // 2. B commits.
    await b.run(change('B'));
    // 3. The sequencer steps, a reader reads.
    await drain(sequencer);
    assert.deepEqual(await consumer.page(), ['B']);
    // 4. A commits. 5. The sequencer steps, the reader goes on.
    await a.commit();
    await drain(sequencer);
    assert.deepEqual(await consumer.page(), ['A']);
    assert.deepEqual(await log.pulses(), ['Note/B', 'Note/A']);
  });

  it('is not held up by a transaction that is open in another database of the cluster', async () => {
    const log = await logDatabase();
    const other = await testDatabase({ name: 'other' });
    const [stranger, a, sequencer, consumer] = [
      await openSession(other.url),
      await openSession(log.url),
      log.sequencer(),
      reader(log),
    ];
    // 1. A transaction elsewhere takes its id and stays open. 2. A takes a row, B commits.
    await stranger.begin();
    await stranger.run('create table work (id integer)');
    await a.begin();
    await a.run(change('A'));
    await log.write(change('B'));
    // 3. The sequencer steps: the reader gets B at once.
    await drain(sequencer);
    assert.deepEqual(await consumer.page(), ['B']);
    // 4. A commits while the stranger is still open.
    await a.commit();
    await drain(sequencer);
    assert.deepEqual(await consumer.page(), ['A']);
    // 5. The stranger ends; changes go on.
    await stranger.commit();
    await log.write(change('C'));
    await drain(sequencer);
    assert.deepEqual(await consumer.page(), ['C']);
    await stranger.close();
    await other.drop();
  });

  it('numbers nothing for a transaction that rolled back, and leaves no gap', async () => {
    const log = await logDatabase();
    const [a, sequencer] = [await openSession(log.url), log.sequencer()];
    await a.begin();
    await a.run(change('A'));
    await log.write(change('B'));
    await drain(sequencer);
    await a.rollback();
    await log.write(change('C'));
    await drain(sequencer);
    const pulses = await readAll(log.log);
    assert.deepEqual(
      pulses.map(({ key, sequence }) => [key, sequence]),
      [
        ['B', 1n],
        ['C', 2n],
      ],
    );
  });

  it('rolls a savepoint back without losing what the transaction wrote beside it', async () => {
    const log = await logDatabase();
    const [a, sequencer, consumer] = [await openSession(log.url), log.sequencer(), reader(log)];
    // 1. The subtransaction has an id of its own, above the one that others take meanwhile.
    await a.begin();
    await a.run(change('kept'));
    await log.write(change('B'));
    await a.run('savepoint s');
    await a.run(change('undone'));
    await a.run('rollback to savepoint s');
    await a.run('savepoint s');
    await log.write(change('C'));
    await a.run(change('inner'));
    await a.run('release savepoint s');
    // 2. The sequencer steps while it is open, then after it.
    await drain(sequencer);
    assert.deepEqual(await consumer.page(), ['B', 'C']);
    await a.commit();
    await drain(sequencer);
    assert.deepEqual(await consumer.page(), ['kept', 'inner']);
  });

  it('numbers a prepared transaction when it is committed, and not before', async () => {
    const log = await logDatabase();
    const [a, sequencer, consumer] = [await openSession(log.url), log.sequencer(), reader(log)];
    // 1. A prepares; its session goes away. 2. B commits and is read.
    await a.begin();
    await a.run(change('A'));
    await a.run(`prepare transaction 'races'`);
    await a.close();
    await log.write(change('B'));
    await drain(sequencer);
    await drain(sequencer);
    assert.deepEqual(await consumer.page(), ['B']);
    // 3. The prepared one is committed.
    await log.db.query({ text: `commit prepared 'races'` });
    await drain(sequencer);
    assert.deepEqual(await consumer.page(), ['A']);
  });

  it('serves all of 50 interleaved transactions that commit in the opposite order, stepping between', async () => {
    const log = await logDatabase();
    const [sequencer, consumer] = [log.sequencer(), reader(log)];
    const sessions = await Promise.all(Array.from({ length: 50 }, () => openSession(log.url)));
    for (const [n, session] of sessions.entries()) {
      await session.begin();
      await session.run(change(`k${n}`));
    }
    const expected: string[] = [];
    for (const [n, session] of [...sessions.entries()].reverse()) {
      await session.run(change(`late${n}`));
      await session.commit();
      await drain(sequencer);
      await consumer.page();
      expected.push(`k${n}`, `late${n}`);
    }
    assert.deepEqual(consumer.seen, expected);
  });

  it('finds the row of a transaction that took its id long before it wrote', async () => {
    const log = await logDatabase();
    const [a, sequencer, consumer] = [await openSession(log.url), log.sequencer(), reader(log)];
    // 1. A takes its transaction id and writes nothing.
    await a.begin();
    await a.run('select pg_current_xact_id()');
    // 2. Others commit over many steps: everything visible is taken each time, so the horizon moves.
    for (let n = 0; n < 30; n++) {
      await log.write(change(`b${n}`));
      await drain(sequencer);
    }
    assert.equal((await consumer.page()).length, 30);
    // 3. A writes at last, below every id that was taken meanwhile. 4. Steps before and after its commit.
    await a.run(change('A'));
    await drain(sequencer);
    assert.deepEqual(await consumer.page(), []);
    await a.commit();
    await drain(sequencer);
    assert.deepEqual(await consumer.page(), ['A']);
  });

  it('finds it also when the writer took its id while the sequencer was in the middle of a step', async () => {
    const log = await logDatabase();
    const [a, b, sequencer, consumer] = [
      await openSession(log.url),
      await openSession(log.url),
      log.sequencer(),
      reader(log),
    ];
    const gate = await gateAt(log, 'delete', 'pulsefeed.record_change');
    // 1. The step has taken its rows and its horizon, and waits.
    await log.write(change('first'));
    const step = sequencer.step();
    await gate.reached();
    // 2. A and B take their ids; B writes and commits.
    await a.begin();
    await a.run('select pg_current_xact_id()');
    await b.run(change('B'));
    // 3. The step ends, others follow.
    await gate.open();
    await step;
    await drain(sequencer);
    assert.deepEqual(await consumer.page(), ['first', 'B']);
    // 4. A writes and commits.
    await a.run(change('A'));
    await a.commit();
    await drain(sequencer);
    assert.deepEqual(await consumer.page(), ['A']);
  });
});
