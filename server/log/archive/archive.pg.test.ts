import assert from 'node:assert/strict';
import { readdir, readFile, rm, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  type ArchivedLog,
  archivedLog,
  mixedPulses,
  moveAll,
  moveOnce,
  onDatabase,
  openArchivedLog,
  pageAfter,
  type Walker,
  walk,
} from '../../../testing/archived-log.ts';
import { s3Emulator } from '../../../testing/s3-emulator.ts';
import { watchedDatabase } from '../../../testing/watched-database.ts';
import { emptyWrittenLog, writePulses } from '../../../testing/written-log.ts';
import { PulsefeedError } from '../../base/errors.ts';
import { openLog } from '../index.ts';
import { readEntries } from './manifest.ts';
import { decodeSegment, encodeSegment } from './segment.ts';

/** Consumers: 1 holds what a test gives it and private feed 6, 2 the same with 7. */
const readers: readonly { name: string; walker: Walker; held: readonly (readonly number[])[] }[] = [
  { name: 'a shared feed', walker: 1, held: [[1]] },
  { name: 'a narrow feed', walker: 1, held: [[4]] },
  { name: 'its private feed alone', walker: 1, held: [[]] },
  { name: 'shared, narrow and private feeds', walker: 2, held: [[], [2, 3, 5]] },
  { name: 'everything', walker: undefined, held: [] },
];

/** Changes what the consumers hold; what they were told before plays no part here. */
async function holds({ db }: ArchivedLog, held: readonly (readonly number[])[]): Promise<void> {
  await db.query({ text: 'delete from pulsefeed.consumer_feed' });
  await db.query({
    text: `
insert into pulsefeed.consumer_feed (consumer_id, feed_id)
select consumer, feed from unnest($1::integer[], $2::integer[]) h (consumer, feed)`,
    values: [
      [1, 2, ...held.flatMap((feeds, index) => feeds.map(() => index + 1))],
      [6, 7, ...held.flat()],
    ],
  });
}

async function compactLog({ log }: ArchivedLog): Promise<void> {
  for (let step = 0; step < 100; step += 1) {
    const outcome = await log.retire({ lag: { events: 0n }, limit: 1_000 });
    if (outcome.kind !== 'retired' || outcome.upTo === outcome.target) return;
  }
}

describe('a log with an archive', () => {
  it('shows each kind of reader through 50 segments what it showed before', async function () {
    this.timeout(60_000);
    const log = await archivedLog();
    await emptyWrittenLog(log.db, [], {});
    await writePulses(log.db, 1n, mixedPulses(500));
    await compactLog(log);
    const [row] = await log.db.query<{ rows: number }>({
      text: 'select count(*)::int as rows from pulsefeed.entity_event',
    });
    const rows = row?.rows ?? 0;
    const shapes = [
      { pageSize: 17 },
      { pageSize: 30, and: `e.key like '%3'` },
      { pageSize: 30, feedTypes: true },
    ];
    const walks = async ({ log: through }: ArchivedLog) => {
      const met: Record<string, string[]> = {};
      for (const { name, walker, held } of readers) {
        await holds(log, held);
        for (const shape of shapes)
          met[`${name} ${JSON.stringify(shape)}`] = await walk(through, walker, shape);
        for (const after of [1n, 150n, 470n])
          met[`${name} from ${after}`] = await walk(through, walker, { after, pageSize: 50 });
      }
      return met;
    };
    const before = await walks(log);
    for (const [name, met] of Object.entries(before)) assert.ok(met.length > 0, name);
    const parts = await moveAll(log, Math.floor((rows * 0.9) / 50), Math.floor(rows / 10));
    assert.ok(parts >= 50, `${parts} parts`);
    assert.deepEqual(await walks(await openArchivedLog(log.url, log.folder)), before);
  });

  it('tells each reader from every cursor the same as the whole log, where it compacts while it moves', async () => {
    const log = await archivedLog();
    await emptyWrittenLog(
      log.db,
      [
        [1, 4],
        [2, 5],
      ],
      {},
    );
    await writePulses(log.db, 1n, mixedPulses(600));
    const lastOf = async (walker: Walker) => {
      const last = new Map<string, string>();
      for (const line of await walk(log.log, walker)) last.set(line.split(' ')[2] ?? '', line);
      return [...last.values()].sort();
    };
    const before = [await lastOf(1), await lastOf(2), await lastOf(undefined)];
    await moveAll(log, 50, 100);
    assert.deepEqual([await lastOf(1), await lastOf(2), await lastOf(undefined)], before);
    const entries = await readEntries(log.db, 0n, 100);
    const kept = entries.reduce((sum, { rows }) => sum + rows, 0);
    assert.ok(kept < 400, `${kept} of 500 pulses are in segments`);
    assert.ok(
      entries.some(({ rows }) => rows < 50),
      'something was compacted',
    );
  });

  it('joins archive and table in one page', async () => {
    const log = await archivedLog();
    await emptyWrittenLog(log.db, [], {});
    await writePulses(
      log.db,
      1n,
      Array.from({ length: 30 }, (_, n) => ({ key: `k${n}`, feeds: [1] })),
    );
    await moveAll(log, 10, 8);
    const page = await log.log.read(pageAfter(undefined, 15n, { pageSize: 12 }));
    assert.deepEqual(
      page.pulses.map(({ sequence }) => Number(sequence)),
      Array.from({ length: 12 }, (_, n) => 16 + n),
    );
    const [left] = await log.db.query<{ seq: bigint }>({
      text: 'select min(seq) as seq from pulsefeed.entity_event',
    });
    assert.equal(left?.seq, 23n);
  });

  it('is the same with its segments in an S3-compatible store', async () => {
    const { db, url } = await archivedLog();
    await emptyWrittenLog(db, [[1, 4]], {});
    await writePulses(db, 1n, mixedPulses(60));
    const location = await s3Emulator();
    const log = onDatabase(db, url, location);
    await compactLog(log);
    const before = [await walk(log.log, undefined), await walk(log.log, 1, { pageSize: 5 })];
    await moveAll(log, 15, 5);
    const fresh = onDatabase(db, url, location);
    assert.deepEqual([await walk(fresh.log, undefined), await walk(fresh.log, 1, { pageSize: 5 })], before);
    const files = (await readEntries(db, 0n, 100)).map(({ file }) => file);
    assert.deepEqual((await fresh.archive.store?.list())?.sort(), files);
  });

  it('looks again when the archive moves on, or a feed is granted, while it is being searched', async () => {
    for (const meddle of ['archive', 'grant'] as const) {
      const log = await archivedLog();
      await emptyWrittenLog(log.db, [[1]], {});
      await writePulses(
        log.db,
        1n,
        Array.from({ length: 40 }, (_, n) => ({ key: `k${n}`, feeds: n % 2 === 0 ? [1] : [2] })),
      );
      await moveAll(log, 10, 30);
      let times = 0;
      let pending: Promise<unknown> = Promise.resolve();
      // 1. The page is asked of the table, 2. the archive is searched, 3. now it changes, 4. the page is read with it.
      const watched = watchedDatabase(log.db, () => undefined);
      const between = {
        ...watched,
        async query<Row>(statement: Parameters<typeof watched.query>[0]): Promise<Row[]> {
          if (statement.text.includes('archived as materialized') && times === 0) {
            times += 1;
            pending =
              meddle === 'archive'
                ? moveOnce(log, { rows: 15, keep: 5 })
                : log.db.query({ text: 'insert into pulsefeed.consumer_feed values (1, 2)' });
            await pending;
          }
          return log.db.query<Row>(statement);
        },
      };
      const page = await openLog(between, undefined, log.archive).read(pageAfter(1, 0n));
      await pending;
      assert.equal(times, 1);
      assert.equal(page.pulses.length, meddle === 'archive' ? 20 : 40, meddle);
    }
  });

  describe('with a bad segment', () => {
    const damages: Readonly<Record<string, (file: string) => Promise<void>>> = {
      truncated: async file => truncate(file, (await readFile(file)).length - 20),
      'flipped by one byte': async file => {
        const bytes = await readFile(file);
        bytes[bytes.length >> 1] = (bytes[bytes.length >> 1] ?? 0) ^ 1;
        await writeFile(file, bytes);
      },
      missing: file => rm(file),
      'another one of the same part and size': async file => {
        const bytes = await readFile(file);
        const segment = decodeSegment(bytes);
        for (let n = 0; n < 5_000; n += 1) {
          const keys = [n.toString(36).padStart(3, 'z'), ...segment.keys.slice(1)];
          const other = encodeSegment({ ...segment, keys });
          if (other.length === bytes.length) return writeFile(file, other);
        }
        throw new Error('there is none of that size');
      },
    };
    for (const [damage, spoil] of Object.entries(damages)) {
      it(`answers 503 for the numbers of one that is ${damage}, and nothing else`, async () => {
        const log = await archivedLog();
        await emptyWrittenLog(log.db, [[4]], {});
        await writePulses(
          log.db,
          1n,
          Array.from({ length: 40 }, (_, n) => ({ key: `k${n}`, feeds: [1, 4] })),
        );
        await moveAll(log, 10, 10);
        const entry = (await readEntries(log.db, 10n, 1))[0];
        assert.equal(entry?.after, 10n);
        await spoil(join(log.folder, entry?.file ?? ''));
        const fresh = await openArchivedLog(log.url, log.folder);
        const page = (after: bigint, pageSize: number) =>
          fresh.log.read(pageAfter(undefined, after, { pageSize }));
        assert.equal((await page(0n, 10)).pulses.length, 10);
        assert.equal((await page(20n, 20)).pulses.length, 20);
        // A narrow feed is read from its postings, which are in the database.
        assert.equal((await fresh.log.read(pageAfter(1, 5n))).pulses.length, 35);
        for (const [after, pageSize] of [
          [10n, 5],
          [5n, 10],
          [19n, 100],
        ] as const)
          await assert.rejects(page(after, pageSize), (error: unknown) => {
            assert.ok(error instanceof PulsefeedError);
            assert.equal(error.code, 'EE-304');
            assert.equal(error.status, 503);
            assert.match(error.message, /Numbers 11 to 20 /);
            return true;
          });
      });
    }

    it('answers 503 where no archive is configured, or the manifest has a hole', async () => {
      const log = await archivedLog();
      await emptyWrittenLog(log.db, [], {});
      await writePulses(log.db, 1n, mixedPulses(100));
      await moveAll(log, 10, 50);
      const refused = { code: 'EE-304' };
      await assert.rejects(openLog(log.db).read(pageAfter(undefined, 0n)), refused);
      assert.equal((await openLog(log.db).read(pageAfter(undefined, 50n))).pulses.length, 50);
      await log.db.query({ text: 'delete from pulsefeed.archive_segment where up_to = 20' });
      await assert.rejects(log.log.read(pageAfter(undefined, 0n)), refused);
      await assert.rejects(log.log.read(pageAfter(undefined, 12n)), refused);
      await log.db.query({ text: 'delete from pulsefeed.archive_segment where up_to = 50' });
      await assert.rejects(log.log.read(pageAfter(undefined, 45n)), refused);
    });
  });

  it('moves a part once, whoever tries, and keeps nothing back of what compaction dropped meanwhile', async () => {
    const log = await archivedLog();
    await emptyWrittenLog(log.db, [], {});
    await writePulses(log.db, 1n, mixedPulses(300));
    const other = await openArchivedLog(log.url, log.folder);
    const outcomes = await Promise.all([
      moveOnce(log, { rows: 100, keep: 0 }),
      moveOnce(other, { rows: 100, keep: 0 }),
    ]);
    const archived = outcomes.filter(({ kind }) => kind === 'archived');
    const ends = archived.map(outcome => (outcome.kind === 'archived' ? outcome.upTo : 0n));
    assert.equal(new Set(ends).size, ends.length);
    const outcome = await moveOnce(log, {
      rows: 50,
      keep: 0,
      async at(point) {
        if (point === 'verified') await compactLog(log);
      },
    });
    assert.equal(outcome.kind, 'standby');
    const before = await walk(log.log, undefined);
    await moveAll(log, 50, 0);
    assert.deepEqual(await walk(log.log, undefined), before);
  });

  it('stands by while somebody compacts, and when a file is gone before it is named', async () => {
    const log = await archivedLog();
    await emptyWrittenLog(log.db, [], {});
    await writePulses(log.db, 1n, mixedPulses(100));
    const blocked = await log.db.transaction(async tx => {
      await tx.query({ text: 'select from pulsefeed.compaction for update' });
      return moveOnce(log, { rows: 50, keep: 0 });
    });
    assert.equal(blocked.kind, 'standby');
    const tidied = await moveOnce(log, {
      rows: 50,
      keep: 0,
      async at(point) {
        if (point !== 'verified') return;
        for (const file of await readdir(log.folder)) await rm(join(log.folder, file));
      },
    });
    assert.equal(tidied.kind, 'standby');
    assert.equal((await walk(log.log, undefined)).length, 100);
  });

  it('moves nothing of a database that was restored until a new epoch is open, and then writes the epoch', async () => {
    const log = await archivedLog();
    await emptyWrittenLog(log.db, [], {});
    await writePulses(log.db, 1n, mixedPulses(50));
    await log.db.transaction(tx =>
      tx.script(`
create temporary table kept on commit drop as select * from pulsefeed.log_head;
delete from pulsefeed.log_head;
insert into pulsefeed.log_head select * from kept`),
    );
    await assert.rejects(moveOnce(log, { rows: 50, keep: 0 }), { code: 'EE-303' });
    const { epoch, head } = await log.log.read(pageAfter(undefined, 0n));
    assert.equal(epoch, 2);
    const outcome = await moveOnce(log, { rows: 100, keep: 0 });
    assert.equal(outcome.kind === 'archived' && outcome.upTo, head);
    assert.equal((await readEntries(log.db, 0n, 1))[0]?.epoch, 2);
    // Inside the gap nobody is answered, archived or not.
    const page = pageAfter(undefined, 60n);
    await assert.rejects(log.log.read({ ...page, standing: { at: 60n, origin: 60n } }), { code: 'EE-105' });
  });

  it('goes on from an older copy of the database beside the segments of the newer one', async () => {
    const log = await archivedLog();
    await emptyWrittenLog(log.db, [], {});
    await writePulses(log.db, 1n, mixedPulses(100));
    await moveOnce(log, { rows: 30, keep: 0 });
    const saved = await log.db.query<{ seq: bigint; shared: bigint; audience_id: number; key: string }>({
      text: 'select * from pulsefeed.entity_event order by seq',
    });
    const before = await walk(log.log, undefined);
    await moveOnce(log, { rows: 30, keep: 0 });
    // The restore: the table, the boundary and the manifest as they were.
    await log.db.transaction(async tx => {
      await tx.script(`
delete from pulsefeed.archive_segment where up_to > 30; update pulsefeed.archive set archived_to = 30;
delete from pulsefeed.entity_event`);
      await tx.query({
        text: `
insert into pulsefeed.entity_event select * from jsonb_populate_recordset(null::pulsefeed.entity_event, $1)`,
        values: [JSON.stringify(saved, (_, value) => (typeof value === 'bigint' ? value.toString() : value))],
      });
    });
    const files = await readdir(log.folder);
    const fresh = onDatabase(log.db, log.url, log.folder);
    assert.deepEqual(await walk(fresh.log, undefined), before);
    await writePulses(log.db, 101n, mixedPulses(20));
    const after = await walk(fresh.log, undefined);
    await moveOnce(fresh, { rows: 40, keep: 0 });
    assert.equal((await walk(fresh.log, undefined)).length <= after.length, true);
    // What the newer history wrote is still there, untouched.
    for (const file of files) assert.ok((await readdir(log.folder)).includes(file));
  });
});
