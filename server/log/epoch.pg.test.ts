import assert from 'node:assert/strict';
import { drain, type LogDatabase, logDatabase } from '../../testing/log-database.ts';
import { openEpochByHand, readServerIdentity } from './epoch.ts';
import { listEpochs } from './epoch-sql.ts';
import type { Standing } from './horizon.ts';
import { openLog } from './index.ts';
import { dense } from './numbering.ts';
import { asSequence } from './sequence-number.ts';
import { SequencerLoop } from './sequencer-loop.ts';

/** What a dump and its restore do to the head: its row is written anew, with what it said. */
const restoreHead = `
create temporary table kept on commit drop as select * from pulsefeed.log_head;
delete from pulsefeed.log_head;
insert into pulsefeed.log_head select * from kept`;

const change = (log: LogDatabase, key: string) =>
  log.write(`insert into pulsefeed.record_change (op, resource, key) values ('i', 'Note', '${key}')`);

const page = (at: bigint, token?: Standing['token']) => ({
  where: { text: 'e.seq > $1', values: [at] },
  limit: 10,
  standing: { at, origin: at, ...(token === undefined ? {} : { token }) },
});

const opened = async ({ db }: LogDatabase) => (await listEpochs(db)).slice(1);

describe('an epoch', () => {
  it('is opened by no ordinary work: numbering, seeding, rules, vacuum full, several sequencers', async () => {
    const log = await logDatabase();
    const [a, b] = [log.sequencer(), log.sequencer()];
    for (const [key, sequencer] of [
      ['1', a],
      ['2', b],
      ['3', a],
    ] as const) {
      await change(log, key);
      await drain(sequencer);
    }
    await log.write(`insert into showing ("ShowingId") select generate_series(1, 25); delete from pulsefeed.record_change;
insert into pulsefeed.resource (name) values ('Showing');
insert into pulsefeed.seed_entry (resource_id, key)
select id, g::text from pulsefeed.resource, generate_series(1, 20) g where name = 'Showing'`);
    // Twice the same entries: the second time the records are stored, and the savepoint is rolled back.
    await a.seedStep(100);
    await log.write(`insert into pulsefeed.seed_entry (resource_id, key)
select id, g::text from pulsefeed.resource, generate_series(15, 25) g where name = 'Showing'`);
    await b.seedStep(100);
    await log.db.query({ text: 'vacuum (full, freeze) pulsefeed.log_head' });
    await change(log, '4');
    await drain(a);
    assert.deepEqual(await opened(log), []);
    assert.ok((await log.log.head()).head < 40n);
  });

  it('is opened when the head was restored, once, above everything, by the next step', async () => {
    const log = await logDatabase();
    const [a, b] = [log.sequencer(), log.sequencer()];
    await change(log, '1');
    await drain(a);
    await log.write(restoreHead);
    await change(log, '2');
    await drain(b);
    await drain(a);
    const [epoch, ...others] = await opened(log);
    assert.deepEqual(others, []);
    assert.ok(epoch !== undefined);
    assert.deepEqual([epoch.epoch, epoch.reason, epoch.lost_after], [2, 'restored', 1n]);
    assert.ok(epoch.lost_to > 1_000_000_000n);
    const { pulses } = await log.log.read(page(1n));
    assert.deepEqual(
      pulses.map(({ sequence }) => sequence),
      [asSequence(epoch.lost_to + 2n)],
    );
  });

  it('is told by the loop that opens it', async () => {
    const log = await logDatabase();
    await change(log, '1');
    await drain(log.sequencer());
    await log.write(restoreHead);
    await new Promise<void>(resolve => {
      const loop = new SequencerLoop(log.sequencer(), seen => {
        if (seen.kind === 'EpochOpened') void loop.stop().then(resolve);
      });
      loop.start();
    });
    assert.equal((await opened(log))[0]?.reason, 'restored');
  });

  it('is opened by whoever reads first, so that nobody is answered from a restored log', async () => {
    const log = await logDatabase();
    await change(log, '1');
    await drain(log.sequencer());
    await log.write(restoreHead);
    await assert.rejects(log.log.read(page(700n)), { code: 'EE-105' });
    assert.equal((await opened(log)).length, 1);
  });

  it('is opened when the head is lower than one that the process has read or written', async () => {
    for (const seen of ['read', 'written']) {
      const log = await logDatabase();
      const own = log.log;
      const sequencer = log.sequencer();
      for (const key of ['1', '2', '3']) await change(log, key);
      await drain(sequencer);
      await own.read(page(0n));
      // As after the restore of a storage snapshot: every row says what it said.
      await log.write(
        'delete from pulsefeed.entity_event where seq > 1; update pulsefeed.log_head set last_seq = 1',
      );
      if (seen === 'read') await assert.rejects(own.read(page(3n)), { code: 'EE-105' });
      else await drain(sequencer);
      const [epoch] = await opened(log);
      assert.deepEqual([epoch?.reason, epoch?.lost_after], ['head fell', 1n], seen);
    }
  });

  it('is opened by a token that names a higher number or a later epoch, and by no plain number', async () => {
    for (const token of [
      { epoch: 1, head: 9n, told: 9n },
      { epoch: 1, head: 1n, told: 7n },
      { epoch: 2, head: 1n, told: 1n },
    ]) {
      const log = await logDatabase();
      await change(log, '1');
      await drain(log.sequencer());
      const reader = log.log;
      assert.equal((await reader.read(page(9n))).pulses.length, 0);
      const asked = reader.read(page(token.told, token));
      if (token.told > 1n) await assert.rejects(asked, { code: 'EE-105' });
      else await asked;
      const [epoch] = await opened(log);
      assert.deepEqual([epoch?.reason, epoch?.epoch], ['token', token.epoch + 1]);
      assert.ok((await log.log.head()).head > token.told);
    }
  });

  it('is opened when another server or another timeline writes on', async () => {
    const log = await logDatabase();
    const identity = await readServerIdentity(log.db);
    assert.match(identity.systemId ?? '', /^\d+$/);
    assert.equal(identity.timeline, 1);
    await change(log, '1');
    await drain(log.sequencer());
    for (const moved of [`system_id = '1'`, 'timeline = 77']) {
      await log.write(`update pulsefeed.log_head set ${moved}`);
      await drain(log.sequencer());
    }
    assert.deepEqual(
      (await opened(log)).map(({ reason }) => reason),
      ['moved', 'moved'],
    );
    await drain(log.sequencer());
    assert.equal((await opened(log)).length, 2);
  });

  it('is opened by many readers at once only once', async () => {
    const log = await logDatabase();
    await change(log, '1');
    await drain(log.sequencer());
    await log.write(restoreHead);
    await Promise.all(Array.from({ length: 10 }, () => log.log.read(page(0n))));
    assert.equal((await opened(log)).length, 1);
  });

  it('is not opened by readers that overtake each other while numbers are given', async () => {
    const log = await logDatabase();
    const reader = openLog(log.db);
    const sequencer = log.sequencer();
    for (let round = 0; round < 30; round += 1) {
      await change(log, `r${round}`);
      await Promise.all([sequencer.step(), ...Array.from({ length: 8 }, () => reader.read(page(0n)))]);
    }
    assert.deepEqual(await opened(log), []);
  });

  it('refuses every position inside the gap and serves those before, at its end and behind it', async () => {
    const log = await logDatabase();
    for (const key of ['1', '2', '3']) await change(log, key);
    await drain(log.sequencer());
    const { lostAfter, lostTo } = await openEpochByHand(log.db, dense);
    assert.equal(lostAfter, 3n);
    for (const at of [4n, 5n, lostTo - 1n, lostTo]) {
      await assert.rejects(log.log.read(page(at)), { code: 'EE-105', message: /ge 0/ });
    }
    for (const at of [0n, 2n, 3n, lostTo + 1n, lostTo + 500n]) {
      const { pulses } = await log.log.read(page(at));
      assert.equal(pulses.length, at < 3n ? 3 - Number(at) : 0);
    }
  });

  it('is refused to a process that may not open it, with 503', async () => {
    const log = await logDatabase();
    await change(log, '1');
    await drain(log.sequencer());
    await log.write(`${restoreHead};
create function pulsefeed.refuse() returns trigger language plpgsql as $$ begin raise insufficient_privilege; end $$;
create trigger refuse before insert on pulsefeed.epoch execute function pulsefeed.refuse()`);
    await assert.rejects(log.log.read(page(0n)), { code: 'EE-303' });
  });

  it('goes above a number that the operator knows of', async () => {
    const log = await logDatabase();
    const { lostTo } = await openEpochByHand(log.db, dense, 10n ** 15n);
    assert.ok(lostTo > 10n ** 15n);
  });
});
