import assert from 'node:assert/strict';
import { openSession } from '../../testing/gates.ts';
import { drain, type LogDatabase, logDatabase, readAll } from '../../testing/log-database.ts';
import { maxSequence, snowflake } from './index.ts';

const report = (log: LogDatabase, ...keys: string[]) =>
  log.log.append(
    undefined,
    keys.map(key => ({ resource: 'Note', key, op: 'upsert' })),
  );

const setHead = (log: LogDatabase, head: bigint) =>
  log.write(`update pulsefeed.log_head set last_seq = ${head}`);

describe('the numbers of the log', () => {
  it('begin with 1 and have no gap, one transaction a step or many', async () => {
    const log = await logDatabase();
    const sequencer = log.sequencer();
    for (let n = 0; n < 5; n++) {
      for (let m = 0; m <= n; m++) await report(log, `${n}.${m}`, `${n}.${m}.second`);
      await drain(sequencer);
    }
    const sequences = (await readAll(log.log)).map(({ sequence }) => sequence);
    assert.deepEqual(
      sequences,
      sequences.map((_, n) => BigInt(n + 1)),
    );
    assert.equal((await log.log.head()).head, 30n);
  });

  it('are used again after a step that was rolled back, since nobody saw them', async () => {
    const log = await logDatabase();
    const sequencer = log.sequencer();
    await report(log, 'A');
    await drain(sequencer);
    // The head refuses to move: the step fails after it has numbered.
    await log.write(`alter table pulsefeed.log_head add constraint stuck check (last_seq < 2) not valid`);
    await report(log, 'B', 'C');
    await assert.rejects(sequencer.step(), { code: '23514' });
    await assert.rejects(sequencer.step(), { code: '23514' });
    assert.deepEqual(await log.pulses(), ['Note/A']);
    await log.write('alter table pulsefeed.log_head drop constraint stuck');
    await drain(sequencer);
    const pulses = await readAll(log.log);
    assert.deepEqual(
      pulses.map(({ sequence, key }) => [sequence, key]),
      [
        [1n, 'A'],
        [2n, 'B'],
        [3n, 'C'],
      ],
    );
  });

  it('are never given again when the rows of the highest ones are gone', async () => {
    const log = await logDatabase();
    await report(log, 'A', 'B');
    await drain(log.sequencer());
    await log.write('delete from pulsefeed.entity_event');
    await report(log, 'C');
    await drain(log.sequencer());
    assert.deepEqual(
      (await readAll(log.log)).map(({ sequence }) => sequence),
      [3n],
    );
  });

  for (const [name, head] of [
    ['2^53', 2n ** 53n - 3n],
    ['the end of Int64', maxSequence - 5n],
  ] as const) {
    it(`are exact around ${name}`, async () => {
      const log = await logDatabase();
      await setHead(log, head);
      await report(log, 'A', 'B', 'C', 'D', 'E');
      await drain(log.sequencer());
      const page = await log.log.read({ where: { text: 'e.seq > $1', values: [head + 1n] }, limit: 10 });
      assert.deepEqual(
        page.pulses.map(({ sequence }) => sequence),
        [head + 2n, head + 3n, head + 4n, head + 5n],
      );
      assert.equal(page.head, head + 5n);
      assert.equal((await log.log.head()).head, head + 5n);
    });
  }

  it('end with Int64: a clear error, nothing written, and the changes are kept', async () => {
    const log = await logDatabase();
    await setHead(log, maxSequence - 2n);
    const sequencer = log.sequencer();
    // Three changes, two numbers.
    await report(log, 'A', 'B', 'C');
    await assert.rejects(sequencer.step(), { code: 'EE-900', message: /Int64/ });
    assert.deepEqual(await log.pulses(), []);
    assert.equal((await log.log.head()).head, maxSequence - 2n);
    const [waiting] = await log.db.query<{ n: bigint }>({
      text: 'select count(*) as n from pulsefeed.record_change',
    });
    assert.equal(waiting?.n, 3n);
    await log.write(`delete from pulsefeed.record_change where key = 'C'`);
    await drain(sequencer);
    assert.equal((await log.log.head()).head, maxSequence);
    await report(log, 'D');
    await assert.rejects(sequencer.step(), { code: 'EE-900', message: /Int64/ });
  });

  it('are told to whoever listens, the head once a step', async () => {
    const log = await logDatabase();
    const listener = await openSession(log.url, 'listener');
    const told: (string | undefined)[] = [];
    listener.client.on('notification', ({ payload }) => told.push(payload));
    await listener.run('listen pulsefeed_head');
    const sequencer = log.sequencer();
    await report(log, 'A', 'B');
    await drain(sequencer);
    await sequencer.step();
    await report(log, 'C');
    await drain(sequencer);
    // What was sent before this answer has arrived with it.
    await listener.run('select');
    assert.deepEqual(told, ['2', '3']);
  });

  it('have their time kept, one a second at most', async () => {
    const log = await logDatabase();
    const sequencer = log.sequencer();
    for (const key of ['A', 'B', 'C']) {
      await report(log, key);
      await drain(sequencer);
    }
    const times = () =>
      log.db.query<[bigint]>({ text: 'select seq from pulsefeed.log_time order by seq', rowMode: 'array' });
    assert.deepEqual(await times(), [[1n]]);
    await log.write(`update pulsefeed.log_time set at = at - interval '1 second'`);
    await report(log, 'D');
    await drain(sequencer);
    assert.deepEqual(await times(), [[1n], [4n]]);
  });

  it('may carry the time, and still count up inside a batch and never fall with the clock', async () => {
    const log = await logDatabase();
    const clock = [5_000n, 4_000n, 4_000n, 9_000n];
    const sequencer = log.sequencer({ numbering: snowflake(1, () => clock.shift() ?? 0n) });
    for (const keys of [['A', 'B'], ['C', 'D'], ['E'], ['F', 'G']]) {
      await report(log, ...keys);
      await sequencer.step();
    }
    assert.deepEqual(
      (await readAll(log.log)).map(({ sequence }) => sequence),
      [5_000n, 5_001n, 5_002n, 5_003n, 5_004n, 9_000n, 9_001n],
    );
  });
});
