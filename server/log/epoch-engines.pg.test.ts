import assert from 'node:assert/strict';
import { drain, sharedLogDatabase } from '../../testing/log-database.ts';
import { openEpochByHand } from './epoch.ts';
import { listEpochs } from './epoch-sql.ts';
import { snowflake } from './numbering.ts';

/** What a restore does to the head: its row is written anew, with what it said. */
const restoreHead = `
create temporary table kept on commit drop as select * from pulsefeed.log_head;
delete from pulsefeed.log_head;
insert into pulsefeed.log_head select * from kept`;

const note = (key: string) =>
  `insert into pulsefeed.record_change (op, resource, key) values ('i', 'Note', '${key}')`;

describe('an epoch of the embedded database', () => {
  it('is opened when the head was restored, and not before', async () => {
    const log = await sharedLogDatabase('PGlite');
    for (const key of ['1', '2']) {
      await log.write(note(key));
      await drain(log.sequencer());
    }
    assert.equal((await listEpochs(log.db)).length, 1);
    await log.write(restoreHead);
    await log.write(note('3'));
    await drain(log.sequencer());
    const [, epoch] = await listEpochs(log.db);
    assert.deepEqual([epoch?.reason, epoch?.lost_after], ['restored', 2n]);
    assert.deepEqual((await log.pulses()).length, 3);
  });
});

describe('an epoch of numbers that carry the time', () => {
  it('begins above what the clock can have given, and goes on from there', async () => {
    const log = await sharedLogDatabase('PostgreSQL');
    const numbering = snowflake(1);
    const sequencer = log.sequencer({ numbering });
    await log.write(note('1'));
    await drain(sequencer);
    const { head } = await log.log.head();
    // Restored to when the log was empty: the number above is lost, and nothing in the database tells its size.
    await log.write('delete from pulsefeed.entity_event; update pulsefeed.log_head set last_seq = 0');
    const { lostTo } = await openEpochByHand(log.db, snowflake(2));
    assert.ok(lostTo > head);
    const next = log.sequencer({ numbering: snowflake(3) });
    for (const key of ['2', '3']) {
      await log.write(note(key));
      await drain(next);
    }
    const numbers = (await log.log.read({ where: { text: 'true', values: [] }, limit: 9 })).pulses;
    assert.ok(numbers.length === 2 && numbers.every(({ sequence }) => sequence > lostTo));
  });
});
