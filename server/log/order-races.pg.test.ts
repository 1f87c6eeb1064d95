import assert from 'node:assert/strict';
import { openSession } from '../../testing/gates.ts';
import { drain, gateAt, logDatabase } from '../../testing/log-database.ts';

describe('the order of pulses among concurrent writers', () => {
  it('puts children before a parent that goes while the parent is being looked at', async () => {
    const log = await logDatabase();
    const sequencer = log.sequencer();
    await log.write(`insert into property values ('P', null); insert into media values ('M', 'P')`);
    await drain(sequencer);
    // 1. The listing changes; a step takes the change and waits before it looks at the row.
    const gate = await gateAt(log, 'delete', 'pulsefeed.record_change');
    await log.write('update property set note = 1');
    const step = sequencer.step();
    await gate.reached();
    // 2. The listing goes, and its photo by cascade.
    const b = await openSession(log.url);
    await b.run('delete from property');
    // 3. The step looks and finds the listing gone.
    await gate.open();
    await step;
    await drain(sequencer);
    assert.deepEqual((await log.pulses()).slice(2), ['Media/M', 'Property/P']);
  });
});
