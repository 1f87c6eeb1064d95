import assert from 'node:assert/strict';
import {
  drain,
  emptyLogDatabase,
  type LogDatabase,
  logDatabase,
  readPulses,
  sharedLogDatabase,
} from '../../testing/log-database.ts';

/** Numbers what is waiting in one go and returns the pulses that came of it. */
async function numbered(log: LogDatabase, batchSize = 10_000): Promise<string[]> {
  const { head } = await log.log.head();
  await drain(log.sequencer({ batchSize }));
  return readPulses(log.log, head);
}

/** The same histories, worked off in one step and in steps of about 7 changes, on both engines. */
const variants = [
  { engine: 'PostgreSQL', batchSize: 10_000 },
  { engine: 'PostgreSQL', batchSize: 7 },
  { engine: 'PGlite', batchSize: 7 },
] as const;

const family = `
  insert into office values ('O', null);
  insert into property values ('P1', 'O'), ('P2', 'O');
  insert into media values ('M1', 'P1'), ('M2', 'P1'), ('M3', 'P2');`;

for (const { engine, batchSize } of variants) {
  describe(`the order of pulses in batches of ${batchSize} on ${engine}`, () => {
    let shared: LogDatabase;

    before(async function () {
      // PGlite takes seconds to start on a busy machine.
      this.timeout(60_000);
      shared = await sharedLogDatabase(engine);
    });

    async function emptyLog(): Promise<LogDatabase> {
      await emptyLogDatabase(shared);
      return shared;
    }

    it('puts parents before their children as they appear', async () => {
      const log = await emptyLog();
      await log.write(family);
      assert.deepEqual(await numbered(log, batchSize), [
        'Office/O',
        'Property/P1',
        'Property/P2',
        'Media/M1',
        'Media/M2',
        'Media/M3',
      ]);
    });

    it('puts parents first also where the child was written first, under a deferred foreign key', async () => {
      const log = await emptyLog();
      await log.write(`
        insert into media values ('M', 'P');
        insert into property values ('P', 'O');
        insert into office values ('O', null);`);
      assert.deepEqual(await numbered(log, batchSize), ['Office/O', 'Property/P', 'Media/M']);
    });

    it('puts children before their parents as they go, though a cascade writes the parent first', async () => {
      const log = await emptyLog();
      await log.write(family);
      await numbered(log);
      await log.write(`delete from office where "OfficeKey" = 'O'`);
      const [first] = await log.db.query<{ key: string }>({
        text: 'select key from pulsefeed.record_change order by id limit 1',
      });
      assert.equal(first?.key, 'O', 'the outbox has the parent first');
      assert.deepEqual(await numbered(log, batchSize), [
        'Media/M1',
        'Media/M2',
        'Media/M3',
        'Property/P1',
        'Property/P2',
        'Office/O',
      ]);
    });

    it('turns a changed key into the old one going and the new one coming, with its children in between', async () => {
      const log = await emptyLog();
      await log.write(family);
      await numbered(log);
      await log.write(`update property set "ListingKey" = 'P9' where "ListingKey" = 'P1'`);
      assert.deepEqual(await numbered(log, batchSize), [
        'Property/P9',
        'Media/M1',
        'Media/M2',
        'Property/P1',
      ]);
    });

    it('moves a child to its new parent before the old parent goes', async () => {
      const log = await emptyLog();
      await log.write(family);
      await numbered(log);
      await log.write(`
        update media set "ResourceRecordKey" = 'P2' where "ResourceRecordKey" = 'P1';
        delete from property where "ListingKey" = 'P1';`);
      assert.deepEqual(await numbered(log, batchSize), ['Media/M1', 'Media/M2', 'Property/P1']);
    });

    it('puts a main office before its branches, three levels deep, and after them as they go', async () => {
      const log = await emptyLog();
      await log.write(`
        insert into office values ('desk', 'branch'), ('branch2', 'main'), ('branch', 'main'), ('main', null);`);
      assert.deepEqual(await numbered(log, batchSize), [
        'Office/main',
        'Office/branch2',
        'Office/branch',
        'Office/desk',
      ]);
      await log.write(`delete from office where "OfficeKey" = 'main'`);
      const down = await numbered(log, batchSize);
      assert.deepEqual(down.slice(-1), ['Office/main']);
      assert.ok(down.indexOf('Office/desk') < down.indexOf('Office/branch'), down.join());
      assert.equal(down.length, 4);
    });

    it('knows a main office that names itself as its main office', async () => {
      const log = await emptyLog();
      await log.write(`insert into office values ('desk', 'branch'), ('branch', 'main'), ('main', 'main');`);
      assert.deepEqual(await numbered(log, batchSize), ['Office/main', 'Office/branch', 'Office/desk']);
      await log.write(`delete from office where "OfficeKey" = 'main'`);
      assert.deepEqual(await numbered(log, batchSize), ['Office/desk', 'Office/branch', 'Office/main']);
    });

    it('ends where offices name each other in a circle, and loses none of them', async () => {
      const log = await emptyLog();
      await log.write(`
        insert into office values ('a', 'b'), ('b', 'c'), ('c', 'a'), ('below', 'a'), ('deeper', 'below');`);
      const pulses = await numbered(log, batchSize);
      assert.deepEqual(
        pulses.toSorted(),
        ['a', 'b', 'below', 'c', 'deeper'].map(key => `Office/${key}`),
      );
    });

    it('keeps a chain of 60 offices in order', async () => {
      const log = await emptyLog();
      await log.write(`
        insert into office
        select 'o' || n, case when n > 1 then 'o' || n - 1 end from generate_series(60, 1, -1) n`);
      const expected = Array.from({ length: 60 }, (_, n) => `Office/o${n + 1}`);
      assert.deepEqual(await numbered(log, batchSize), expected);
    });

    it('folds many changes of one record in one transaction into one pulse, at its last change', async () => {
      const log = await emptyLog();
      await log.write(`
        insert into showing values (1), (2), (3);
        update showing set note = note + 1 where "ShowingId" = 1;
        update showing set note = note + 1 where "ShowingId" = 1;`);
      assert.deepEqual(await numbered(log, batchSize), ['Showing/2', 'Showing/3', 'Showing/1']);
    });

    it('takes a changed parent for a change where only the visibility was to be looked at again', async () => {
      const log = await emptyLog();
      await log.write(family);
      await numbered(log);
      // The photo has moved and nobody captured it; what comes is a second look at it and at one that has not.
      await log.write(`
        set local session_replication_role = replica;
        update media set "ResourceRecordKey" = 'P2' where "MediaKey" = 'M1';
        insert into pulsefeed.record_change (op, resource, key) values ('r', 'Media', 'M2'), ('r', 'Media', 'M1')`);
      assert.deepEqual(await numbered(log, batchSize), ['Media/M1']);
    });

    it('gives no number to a record that came and went unseen', async () => {
      const log = await emptyLog();
      await log.write(`${family} delete from office;`);
      assert.deepEqual(await numbered(log, batchSize), []);
      assert.equal((await log.log.head()).head, 0n);
    });

    it('expands a TRUNCATE from what it knows, children before parents', async () => {
      const log = await emptyLog();
      await log.write(family);
      await numbered(log);
      await log.write('truncate office cascade');
      const pulses = await numbered(log, batchSize);
      assert.deepEqual(pulses.slice(0, 3).toSorted(), ['Media/M1', 'Media/M2', 'Media/M3']);
      assert.deepEqual(pulses.slice(3, 5).toSorted(), ['Property/P1', 'Property/P2']);
      assert.deepEqual(pulses.slice(5), ['Office/O']);
      assert.deepEqual(await log.db.query({ text: 'select from pulsefeed.record_state' }), []);
    });

    it('shows what was written again after a TRUNCATE in the same transaction as present', async () => {
      const log = await emptyLog();
      await log.write(family);
      await numbered(log);
      await log.write(`truncate media; insert into media values ('M2', 'P2'), ('M4', 'P2')`);
      const pulses = await numbered(log, batchSize);
      assert.deepEqual(pulses.slice(0, 2), ['Media/M2', 'Media/M4']);
      assert.deepEqual(pulses.slice(2).toSorted(), ['Media/M1', 'Media/M3']);
    });
  });
}

describe('the order of pulses of several transactions', () => {
  it('follows the commits between batches, whatever the outbox ids', async () => {
    const log = await logDatabase();
    const sequencer = log.sequencer();
    const expected: string[] = [];
    for (let n = 0; n < 5; n++) {
      await log.write(`insert into showing values (${n})`);
      await drain(sequencer);
      expected.push(`Showing/${n}`);
    }
    assert.deepEqual(await log.pulses(), expected);
  });

  it('pulses a record again that changed after it was numbered', async () => {
    const log = await logDatabase();
    await log.write('insert into showing values (1), (2)');
    await numbered(log);
    await log.write('update showing set note = 1 where "ShowingId" = 1');
    assert.deepEqual(await numbered(log), ['Showing/1']);
  });

  it('changes of several resources that nobody ordered keep parents first across transactions of a batch', async () => {
    const log = await logDatabase();
    await log.write(family);
    await numbered(log);
    // 1. One transaction changes a photo, a later one its listing and office.
    await log.write(`update media set note = 1 where "MediaKey" = 'M1'`);
    await log.write('update property set note = 1; update office set note = 1');
    assert.deepEqual(await numbered(log), ['Office/O', 'Property/P1', 'Property/P2', 'Media/M1']);
  });
});
