import assert from 'node:assert/strict';
import { drain, logDatabase } from '../../testing/log-database.ts';
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
