import assert from 'node:assert/strict';
import { drain, type LogDatabase, logDatabase, readAll } from '../../testing/log-database.ts';
import type { Appended, ReportedChange } from './index.ts';

const note = (key: string, id?: string): ReportedChange => ({
  resource: 'Note',
  key,
  op: 'upsert',
  ...(id === undefined ? {} : { id }),
});

/** An append in a transaction that stays open until it is told to end. */
async function openAppend({ log, db }: LogDatabase, source: string, changes: readonly ReportedChange[]) {
  let end: (how: 'commit' | 'rollback') => void = () => undefined;
  const told = new Promise<'commit' | 'rollback'>(resolve => {
    end = resolve;
  });
  let tell: (appended: Appended) => void = () => undefined;
  const appended = new Promise<Appended>(resolve => {
    tell = resolve;
  });
  const ended = db.transaction(async tx => {
    tell(await log.append(source, changes, tx));
    if ((await told) === 'rollback') throw new Error('rolled back');
  });
  const settled = ended.catch((error: unknown) => {
    if (!(error instanceof Error && error.message === 'rolled back')) throw error;
  });
  return {
    appended,
    async end(how: 'commit' | 'rollback') {
      end(how);
      await settled;
    },
  };
}

const waiting = async ({ db }: LogDatabase): Promise<string[]> =>
  (
    await db.query<{ change: string }>({
      text: `select op::text || ' ' || resource || '/' || key as change from pulsefeed.record_change order by id`,
    })
  ).map(({ change }) => change);

describe('append', () => {
  it('takes changes in their order, and only the first with an id', async () => {
    const log = await logDatabase();
    const appended = await log.log.append('crm', [
      note('C', '3'),
      note('A', '1'),
      { ...note('A', '1'), op: 'delete' },
      note('B', '2'),
      note('B', '1'),
    ]);
    assert.deepEqual(appended, { accepted: 3, duplicates: 2 });
    assert.deepEqual(await waiting(log), ['u Note/C', 'u Note/A', 'u Note/B']);
  });

  it('takes an id once, whatever else comes with it, and apart from those of other sources', async () => {
    const log = await logDatabase();
    await log.log.append('crm', [note('A', '1')]);
    assert.deepEqual(await log.log.append('crm', [note('B', '2'), note('other', '1')]), {
      accepted: 1,
      duplicates: 1,
    });
    assert.deepEqual(await log.log.append('erp', [note('A', '1')]), { accepted: 1, duplicates: 0 });
    assert.deepEqual(await waiting(log), ['u Note/A', 'u Note/B', 'u Note/A']);
  });

  it('never takes changes without an id, or without a source, for duplicates', async () => {
    const log = await logDatabase();
    const none = { accepted: 2, duplicates: 0 };
    for (let n = 0; n < 2; n++) {
      assert.deepEqual(await log.log.append('crm', [note('A'), note('A')]), none);
      assert.deepEqual(await log.log.append(undefined, [note('A', '1'), note('A', '1')]), none);
    }
    assert.equal((await waiting(log)).length, 8);
  });

  it('waits for a transaction that has the same id, and counts a duplicate when that commits', async () => {
    const log = await logDatabase();
    // 1. A reports and stays open. 2. B reports the same id and waits.
    const a = await openAppend(log, 'crm', [note('A', '1')]);
    assert.deepEqual(await a.appended, { accepted: 1, duplicates: 0 });
    const b = log.log.append('crm', [note('A', '1'), note('B', '2')]);
    await log.waiting(1);
    // 3. A commits.
    await a.end('commit');
    assert.deepEqual(await b, { accepted: 1, duplicates: 1 });
    assert.deepEqual(await waiting(log), ['u Note/A', 'u Note/B']);
  });

  it('is accepted when the transaction that had the same id rolls back', async () => {
    const log = await logDatabase();
    const a = await openAppend(log, 'crm', [note('A', '1')]);
    await a.appended;
    const b = log.log.append('crm', [note('A', '1'), note('B', '2')]);
    await log.waiting(1);
    await a.end('rollback');
    assert.deepEqual(await b, { accepted: 2, duplicates: 0 });
    assert.deepEqual(await waiting(log), ['u Note/A', 'u Note/B']);
  });

  it('does not deadlock when two calls bring the same ids in opposite orders', async () => {
    const log = await logDatabase();
    const ids = Array.from({ length: 2_000 }, (_, n) => note(`k${n}`, `${n}`));
    const calls = Array.from({ length: 6 }, (_, n) =>
      log.log.append('crm', n % 2 === 0 ? ids : ids.slice(n * 100).reverse()),
    );
    const total = (await Promise.all(calls)).reduce((sum, { accepted }) => sum + accepted, 0);
    assert.equal(total, 2_000);
    assert.equal((await waiting(log)).length, 2_000);
  });

  it('takes all changes of a call or none', async () => {
    const log = await logDatabase();
    const bad = { resource: 'Note', key: 'a\0b', op: 'upsert', id: '2' } as const;
    await assert.rejects(log.log.append('crm', [note('A', '1'), bad]));
    assert.deepEqual(await waiting(log), []);
    assert.deepEqual(await log.log.append('crm', [note('A', '1')]), { accepted: 1, duplicates: 0 });
  });

  it('belongs to the transaction of the caller', async () => {
    const log = await logDatabase();
    const a = await openAppend(log, 'crm', [note('A', '1')]);
    await a.appended;
    await a.end('rollback');
    assert.deepEqual(await waiting(log), []);
  });

  it('takes 10,000 changes in one call, and numbers them in their order', async () => {
    const log = await logDatabase();
    const changes = Array.from({ length: 10_000 }, (_, n) => note(`k${n}`, `${n}`));
    assert.deepEqual(await log.log.append('crm', changes), { accepted: 10_000, duplicates: 0 });
    assert.deepEqual(await log.log.append('crm', changes), { accepted: 0, duplicates: 10_000 });
    await drain(log.sequencer());
    assert.deepEqual(
      await log.pulses(),
      changes.map(({ key }) => `Note/${key}`),
    );
  });

  it('keeps every character of a key, and tells keys apart byte by byte', async () => {
    const log = await logDatabase();
    const keys = [
      ...[
        `o'brien`,
        '"quoted"',
        'a&b=c',
        'a/b',
        'a\\b',
        '100%',
        'a b',
        ' a',
        'a ',
        '',
        '\t',
        '\n',
        '$1',
        '?',
      ],
      ...['ж', '漢字', '🏠', 'e\u0301', 'é', 'ﬁ', 'A', 'a', 'ß', 'ss', 'İ', 'i', '{1}', 'null', 'a\u2028b'],
      '\u007f',
      'x'.repeat(255),
      '漢'.repeat(255),
    ];
    await log.log.append(
      'crm',
      keys.map((key, n) => note(key, `id ${n} ${key}`)),
    );
    await drain(log.sequencer());
    assert.deepEqual(
      (await readAll(log.log)).map(({ key }) => key),
      keys,
    );
  });

  it('writes nothing for an empty call', async () => {
    const log = await logDatabase();
    assert.deepEqual(await log.log.append('crm', []), { accepted: 0, duplicates: 0 });
  });
});
