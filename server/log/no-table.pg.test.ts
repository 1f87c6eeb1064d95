import assert from 'node:assert/strict';
import { drain, type LogDatabase, logDatabase, readPulses } from '../../testing/log-database.ts';
import type { ReportedChange } from './index.ts';

const up = (key: string, more: Partial<ReportedChange> = {}): ReportedChange => ({
  resource: 'Note',
  key,
  op: 'upsert',
  ...more,
});
const down = (key: string): ReportedChange => ({ resource: 'Note', key, op: 'delete' });

async function numbered(log: LogDatabase, ...changes: ReportedChange[]): Promise<string[]> {
  const { head } = await log.log.head();
  if (changes.length > 0) await log.log.append(undefined, changes);
  await drain(log.sequencer());
  return readPulses(log.log, head);
}

/** Each pulse above `after` with the feeds that see it. */
async function audiences({ db }: LogDatabase, after: bigint): Promise<string[]> {
  const rows = await db.query<{ pulse: string }>({
    text: `
select e.key || ' ' || (
  select string_agg(f.name, ',' order by f.name)
  from pulsefeed.audience a join pulsefeed.feed f on f.id = any (a.feeds)
  where a.id = e.audience_id) as pulse
from pulsefeed.entity_event e where seq > $1 order by seq`,
    values: [after],
  });
  return rows.map(({ pulse }) => pulse);
}

describe('a resource without a table', () => {
  it('has its records present until they are reported gone, and again when they come back', async () => {
    const log = await logDatabase();
    assert.deepEqual(await numbered(log, up('A'), up('B')), ['Note/A', 'Note/B']);
    assert.deepEqual(await numbered(log, up('A')), ['Note/A']);
    assert.deepEqual(await numbered(log, down('A')), ['Note/A']);
    assert.deepEqual(await numbered(log, down('A')), [], 'it is gone already');
    assert.deepEqual(await numbered(log, up('A')), ['Note/A']);
    assert.deepEqual(
      await log.db.query({ text: 'select key from pulsefeed.record_state order by key', rowMode: 'array' }),
      [['A'], ['B']],
    );
  });

  it('gives no pulse for a deletion of what was never there', async () => {
    const log = await logDatabase();
    assert.deepEqual(await numbered(log, down('nobody')), []);
    assert.equal((await log.log.head()).head, 0n);
  });

  it('lets the last of several reports of a record decide', async () => {
    const log = await logDatabase();
    assert.deepEqual(await numbered(log, up('A'), down('A'), up('B'), down('B'), up('B')), ['Note/B']);
    assert.deepEqual(await numbered(log, down('B'), up('B')), ['Note/B']);
    assert.deepEqual(await numbered(log, up('B'), down('B')), ['Note/B']);
    assert.deepEqual(await log.db.query({ text: 'select from pulsefeed.record_state' }), []);
  });

  it('keeps a record as it is when only its visibility is to be looked at again', async () => {
    const log = await logDatabase();
    await numbered(log, up('A'));
    await log.write(`
      insert into pulsefeed.record_change (op, resource, key)
      values ('r', 'Note', 'A'), ('r', 'Note', 'nobody')`);
    assert.deepEqual(await numbered(log), []);
    assert.deepEqual(await numbered(log, up('A')), ['Note/A']);
  });

  it('interns a resource that nobody configured, and loses none of its changes', async () => {
    const log = await logDatabase();
    const names = ['Unheard', 'unheard', 'Ünheard', `O'Resource`];
    const changes = names.map(resource => ({ resource, key: 'K', op: 'upsert' }) as const);
    assert.deepEqual(
      await numbered(log, ...changes),
      names.map(name => `${name}/K`),
    );
    assert.deepEqual(
      await numbered(log, ...changes.toReversed()),
      names.map(name => `${name}/K`).toReversed(),
    );
  });

  it('shows a record to the feeds that its producer states, and tells those that lose it', async () => {
    const log = await logDatabase();
    await log.write(`insert into pulsefeed.feed (name) values ('IDX'), ('VOW')`);
    await numbered(log, up('A', { feeds: ['VOW', 'IDX'] }), up('B', { feeds: ['VOW'] }), up('C'));
    assert.deepEqual(await audiences(log, 0n), ['A IDX,VOW', 'B VOW', 'C everyone']);
    // Leaving one feed: changed for those that stay, gone for the other. Ups before downs.
    await numbered(log, up('A', { feeds: ['IDX'] }), up('B', { feeds: ['IDX'] }));
    assert.deepEqual(await audiences(log, 3n), ['A IDX', 'B IDX', 'A VOW', 'B VOW']);
    await numbered(log, down('A'), up('B', { feeds: [] }));
    assert.deepEqual(await audiences(log, 7n), ['A IDX', 'B IDX']);
    // Seen by nobody: no number.
    await numbered(log, up('B', { feeds: [] }));
    assert.equal((await log.log.head()).head, 9n);
  });
});

describe('a table whose key is a number or a uuid', () => {
  const uuid = '0c9f7f5e-3b55-4a8e-9d4b-2f6f3a4d5e6f';
  const hostile = (resource: string, keys: readonly string[]) =>
    keys.map(key => ({ resource, key, op: 'upsert' }) as const);

  it('does not stop the sequencer when the outbox holds a key that is none', async () => {
    const log = await logDatabase();
    await log.write(`insert into showing values (7), (-3), (0); insert into lead values ('${uuid}')`);
    await log.log.append('crm', [
      ...hostile('Showing', [
        '',
        ' 7',
        '7 ',
        '07',
        '+7',
        '7.0',
        '1e3',
        'NaN',
        '0x10',
        '-',
        '-0',
        '٧',
        'seven',
      ]),
      ...hostile('Showing', ['99999999999', '9223372036854775807', '9223372036854775808', '9'.repeat(60)]),
      ...hostile('Lead', ['', 'x', uuid.toUpperCase(), `{${uuid}}`, uuid.replaceAll('-', ''), `${uuid} `]),
    ]);
    await drain(log.sequencer());
    assert.deepEqual((await log.pulses()).toSorted(), [
      `Lead/${uuid}`,
      'Showing/-3',
      'Showing/0',
      'Showing/7',
    ]);
  });

  it('knows every number that the key can be', async () => {
    const log = await logDatabase();
    const keys = ['-9223372036854775808', '-1', '0', '1234567890123456789', '9223372036854775807'];
    await log.write(`insert into showing values (${keys.join('), (')})`);
    await drain(log.sequencer());
    assert.deepEqual(
      await log.pulses(),
      keys.map(key => `Showing/${key}`),
    );
  });
});
