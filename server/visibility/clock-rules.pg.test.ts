import assert from 'node:assert/strict';
import { atTestEnd } from '../../testing/cleanup.ts';
import { testDatabase } from '../../testing/postgres.ts';
import { withConnection } from '../../testing/with-connection.ts';
import type { Viewer } from '../base/auth/viewer.ts';
import { readResourceTables } from '../base/catalog/index.ts';
import type { ResourceConfig } from '../base/config/index.ts';
import { connect, migrate } from '../base/db/index.ts';
import { installCapture } from '../capture/index.ts';
import { dense, openLog, publishRules } from '../log/index.ts';
import { addConsumer, applyFeeds, RuleBook, stepWalk, VisibilityPolicy } from './index.ts';

const resources: readonly ResourceConfig[] = [
  { name: 'Property', table: 'property', key: 'key' },
  { name: 'Media', table: 'media', key: 'key', parents: [{ resource: 'Property', column: 'listing' }] },
];

const feeds = {
  Listed: { Property: 'expires gt now()', Media: { inherit: 'Property' } },
  Open: { Property: 'opens le now()' },
  Sold: { Property: "sold le now() sub duration'P10D'" },
  Window: { Property: 'opens le now() and expires gt now()' },
} as const;

const tables = `
create table property (key text primary key, opens timestamptz, expires timestamptz, sold timestamptz);
create table media (key text primary key, listing text)`;

/** The database's clock, as data: `now()` of every session is what this table says. */
const settableClock = `
create schema clock;
create table clock.moment (at timestamptz not null);
insert into clock.moment values ('2030-01-01 00:00:00Z');
create function clock.now() returns timestamptz language sql stable as 'select at from clock.moment'`;

async function openClock() {
  const { url, drop } = await testDatabase({ name: 'clock' });
  atTestEnd(drop);
  const name = new URL(url).pathname.slice(1);
  await withConnection(url, client => client.query(settableClock));
  // Before pg_catalog, so that an unqualified now() is this one.
  await withConnection(url, client =>
    client.query(`alter database ${name} set search_path = public, clock, pg_catalog`),
  );
  const db = await connect({ databaseUrl: url, dataDir: '', poolSize: 4 });
  atTestEnd(() => db.close());
  await migrate(db);
  await db.script(tables);
  const found = await readResourceTables(db, resources);
  await installCapture(db, found);
  await publishRules(db, { resources });
  await db.script('update pulsefeed.log_head set rule_clock = clock.now()');
  await applyFeeds(db, feeds, resources, found);
  const rules = new RuleBook(db, resources, found);
  while ((await stepWalk({ db, rules, tables: found, chunk: 100 })).kind === 'queued');
  const log = openLog(db);
  const sequencer = log.sequence({ loadSources: () => rules.load(), numbering: dense, batchSize: 100 });
  atTestEnd(() => sequencer.close());
  const policy = new VisibilityPolicy(rules);
  const consumerOf = async (feed: string) => {
    const consumerId = await addConsumer(db, {
      name: feed,
      clientId: feed,
      secretHash: '',
      scopes: ['read'],
      attributes: {},
      grants: [feed],
    });
    const viewer: Viewer = { consumerId, consumer: feed, scopes: new Set(['read']) };
    let cursor = 0n;
    return {
      /** The keys of the pulses that came since it was asked last, in their order. */
      async hears(): Promise<string[]> {
        const page = await policy.read(viewer, async ({ held }) => {
          const where = { text: 'e.seq > $1', values: [cursor] };
          const result = await log.read({ where, above: cursor, held, limit: 100 });
          return { ruleVersion: result.ruleVersion, result };
        });
        cursor = page.head;
        return page.pulses.map(({ key }) => key);
      },
      async sees(key: string): Promise<boolean> {
        const table = key.startsWith('M') ? 'Media' : 'Property';
        return policy.read(viewer, async ({ records }) => {
          const visible = records(table, 2);
          const [row] = await db.query<{ version: number; found: boolean }>({
            text: `select (select rule_version from pulsefeed.log_head) as version,
              exists (select from ${table} t where t.key = $1 and ${visible.text}) as found`,
            values: [key, ...visible.values],
          });
          return { ruleVersion: row?.version ?? 0, result: row?.found ?? false };
        });
      },
    };
  };
  return {
    write: (sql: string) => db.transaction(tx => tx.script(sql)),
    at: (moment: string) => db.query({ text: 'update clock.moment set at = $1', values: [moment] }),
    async number() {
      for (let step = 0; (await sequencer.step()).kind !== 'idle'; step += 1) assert.ok(step < 100);
    },
    consumerOf,
    /** The rows' versions: they change with every write. */
    versions: () =>
      db.query<{ key: string; xmin: string }>({ text: 'select key, xmin::text from property order by key' }),
  };
}

describe('rules with now()', () => {
  it('show and hide a record, and its photos, at their moment though nobody changes it', async () => {
    const { write, at, number, consumerOf, versions } = await openClock();
    const [listed, open] = [await consumerOf('Listed'), await consumerOf('Open')];
    await write(`
      insert into property (key, opens, expires) values ('P1', '2030-02-01Z', '2030-03-01Z');
      insert into media values ('M1', 'P1')`);
    await number();
    const written = await versions();
    assert.deepEqual(await listed.hears(), ['P1', 'M1']);
    assert.deepEqual(await open.hears(), []);
    await at('2030-02-02Z');
    await number();
    assert.deepEqual(await open.hears(), ['P1']);
    assert.deepEqual(await listed.hears(), []);
    assert.deepEqual([await open.sees('P1'), await listed.sees('M1')], [true, true]);
    await at('2030-03-02Z');
    await number();
    assert.deepEqual(await listed.hears(), ['M1', 'P1']);
    assert.deepEqual(await open.hears(), []);
    assert.deepEqual(
      [await listed.sees('P1'), await listed.sees('M1'), await open.sees('P1')],
      [false, false, true],
    );
    assert.deepEqual(await versions(), written);
    // Long after, nothing is due any more.
    await at('2031-01-01Z');
    await number();
    assert.deepEqual([await listed.hears(), await open.hears()], [[], []]);
  });

  it('change their answer at the moment itself, to the microsecond, also with a duration', async () => {
    const { write, at, number, consumerOf } = await openClock();
    const readers = [await consumerOf('Open'), await consumerOf('Listed'), await consumerOf('Sold')] as const;
    await write(`insert into property values ('P1', '2030-02-01Z', '2030-02-01Z', '2030-01-22Z')`);
    await number();
    const seen = async () => {
      await number();
      const heard = await Promise.all(readers.map(reader => reader.hears()));
      const sees = await Promise.all(readers.map(reader => reader.sees('P1')));
      return [...sees, heard.map(keys => keys.length).join('')];
    };
    assert.deepEqual(await seen(), [false, true, false, '010']);
    await at('2030-01-31 23:59:59.999999Z');
    assert.deepEqual(await seen(), [false, true, false, '000']);
    await at('2030-02-01 00:00:00Z');
    assert.deepEqual(await seen(), [true, false, true, '111']);
    await at('2030-02-01 00:00:00.000001Z');
    assert.deepEqual(await seen(), [true, false, true, '000']);
  });

  it('are read by the clock of the last step: a reader is told of what it may not see any more', async () => {
    const { write, at, number, consumerOf } = await openClock();
    const listed = await consumerOf('Listed');
    await write(`insert into property (key, expires) values ('P1', '2030-03-01Z')`);
    await number();
    assert.deepEqual(await listed.hears(), ['P1']);
    // 1. The moment passes. 2. A reader fetches before any step: no pulse could tell it of a 404 met now.
    await at('2030-03-02Z');
    assert.equal(await listed.sees('P1'), true);
    // 3. The step moves the clock and tells, in one commit.
    await number();
    assert.deepEqual([await listed.sees('P1'), await listed.hears()], [false, ['P1']]);
  });

  it('show nothing that had ended before it was written, however long no moment was reached', async () => {
    const { write, at, number, consumerOf } = await openClock();
    const [listed, open] = [await consumerOf('Listed'), await consumerOf('Open')];
    await at('2030-06-01Z');
    await number();
    await write(`insert into property (key, opens, expires) values ('P1', '2030-04-01Z', '2030-05-01Z')`);
    await number();
    assert.deepEqual([await listed.hears(), await open.hears()], [[], ['P1']]);
  });

  it('follow a moment that is moved before it is reached, and one that opens and closes again unseen', async () => {
    const { write, at, number, consumerOf } = await openClock();
    const [listed, window] = [await consumerOf('Listed'), await consumerOf('Window')];
    await write(`insert into property (key, opens, expires) values
      ('P1', null, '2030-03-01Z'), ('P2', '2030-02-01Z', '2030-02-02Z'), ('P3', null, null)`);
    await number();
    assert.deepEqual(await listed.hears(), ['P1', 'P2']);
    await write(`update property set expires = '2030-05-01Z' where key = 'P1'`);
    await number();
    assert.deepEqual(await listed.hears(), ['P1']);
    // Both moments of P2 lie between two steps: its window never was.
    await at('2030-04-01Z');
    await number();
    assert.deepEqual(await listed.hears(), ['P2']);
    assert.deepEqual(await window.hears(), []);
    await at('2030-06-01Z');
    await number();
    assert.deepEqual([await listed.hears(), await listed.sees('P1')], [['P1'], false]);
  });
});
