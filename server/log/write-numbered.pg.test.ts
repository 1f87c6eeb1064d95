import assert from 'node:assert/strict';
import { drain, logDatabase } from '../../testing/log-database.ts';
import { until } from '../../testing/until.ts';
import { watchedDatabase } from '../../testing/watched-database.ts';
import { numberedWrites } from './index.ts';

const insert = `insert into office ("OfficeKey") values ('O1')`;

describe('a write that waits for its numbers', () => {
  it('is answered when the sequencer has numbered it, not before', async () => {
    const { db, sequencer, pulses } = await logDatabase();
    const order: string[] = [];
    const numbering = { ended: Promise.resolve() };
    const write = numberedWrites(db, {
      mostMs: 20_000,
      committed: () => {
        order.push('committed');
        numbering.ended = drain(sequencer()).then(() => {
          order.push('numbered');
        });
      },
    });
    await write(tx => tx.script(insert));
    assert.deepEqual(await pulses(), ['Office/O1']);
    await numbering.ended;
    assert.deepEqual(order, ['committed', 'numbered']);
  });

  it('is answered when a large batch that took it has ended, not while it is worked off', async () => {
    const { db, sequencer, pulses } = await logDatabase();
    const small = sequencer({ batchSize: 5 });
    let looks = 0;
    const seen = { answered: false, numbering: Promise.resolve() };
    const watched = watchedDatabase(db, text => {
      if (text.includes('batch_stage')) looks += 1;
    });
    const write = numberedWrites(watched, {
      mostMs: 20_000,
      committed: () => {
        seen.numbering = (async () => {
          // 1. The batch is open and has taken all of the write; nothing is numbered.
          for (let step = 0; step < 8; step += 1) await small.step();
          assert.deepEqual(await pulses(), []);
          // 2. The writer looks, the second time for certain behind that.
          const before = looks;
          await until('the writer to look', () => looks >= before + 2 || seen.answered);
          // 3. The batch ends.
          await drain(small);
        })();
      },
    });
    await write(tx =>
      tx.script(`insert into office ("OfficeKey") select 'O' || g from generate_series(1, 30) g`),
    );
    seen.answered = true;
    assert.equal((await pulses()).length, 30);
    await seen.numbering;
  });

  it('is answered after its time where nobody numbers, and is committed', async () => {
    const { db, write: plain } = await logDatabase();
    await numberedWrites(db, { mostMs: 1, committed: () => undefined })(tx => tx.script(insert));
    await assert.rejects(plain(insert), /duplicate key/);
  });

  it('waits for nothing when nothing was written', async () => {
    const { db } = await logDatabase();
    const write = numberedWrites(db, {
      mostMs: 20_000,
      committed: () => assert.fail('nothing was committed'),
    });
    assert.deepEqual(await write(tx => tx.query({ text: 'select 1 as one' })), [{ one: 1 }]);
  });

  it('fails as its transaction does', async () => {
    const { db, pulses } = await logDatabase();
    const write = numberedWrites(db, {
      mostMs: 20_000,
      committed: () => assert.fail('nothing was committed'),
    });
    await assert.rejects(
      write(async tx => {
        await tx.script(insert);
        throw new Error('changed my mind');
      }),
      /changed my mind/,
    );
    assert.deepEqual(await pulses(), []);
  });
});
