import assert from 'node:assert/strict';
import { type FeedFixture, openFeed } from '../../testing/captured-feed.ts';
import { openSession } from '../../testing/gates.ts';
import {
  captureScript,
  captureStatus,
  ensureCapture,
  installCapture,
  removeCapture,
  removeStrays,
  strayCaptures,
} from './index.ts';

const plain = `create table property ("ListingKey" varchar(25) primary key, "ListPrice" numeric)`;
const partitioned = `
  create table property ("ListingKey" text, "MlsId" text, "ListPrice" numeric, primary key ("ListingKey", "MlsId"))
    partition by list ("MlsId");
  create table property_a partition of property for values in ('a');
  create table property_bc partition of property for values in ('b', 'c') partition by list ("MlsId");
  create table property_b partition of property_bc for values in ('b');`;
const resources = [{ name: 'Property', table: 'public.property', key: 'ListingKey' }];
const patience = { lockTimeoutMs: 20, attempts: 2, pauseMs: 5 };

async function state(feed: FeedFixture): Promise<string | undefined> {
  return (await captureStatus(feed.runtime.db, feed.runtime.tables))[0]?.state;
}

async function install(feed: FeedFixture) {
  const [result] = await installCapture(feed.runtime.db, feed.runtime.tables, patience);
  return result ?? assert.fail('nothing was installed');
}

describe('capture on a partitioned table', () => {
  it('sees writes through the table, into a partition, and from one partition to another', async () => {
    const feed = await openFeed(partitioned, resources);
    await feed.provider.run(`insert into property values ('K1', 'a'), ('K2', 'b')`);
    await feed.provider.run(`insert into property_b values ('K3', 'b')`);
    assert.deepEqual(await feed.outbox(), ['i Property K1', 'i Property K2', 'i Property K3']);
    await feed.events();
    await feed.provider.run(`update property set "MlsId" = 'b' where "ListingKey" = 'K1'`);
    assert.deepEqual(await feed.outbox(), ['d Property K1', 'i Property K1']);
    assert.deepEqual(await feed.events(), ['Property K1']);
  });

  it('sees replicated writes into partitions, also into one made later', async () => {
    const feed = await openFeed(partitioned, resources);
    await feed.provider.run(`create table property_c partition of property_bc for values in ('c')`);
    await feed.provider.run(`set session_replication_role = replica`);
    await feed.provider.run(`insert into property values ('K1', 'a'), ('K2', 'c')`);
    assert.deepEqual(await feed.outbox(), ['i Property K1', 'i Property K2']);
  });

  it('pulses only what is gone when one partition is truncated', async () => {
    const feed = await openFeed(partitioned, resources);
    await feed.provider.run(`insert into property values ('K1', 'a'), ('K2', 'b')`);
    await feed.events();
    await feed.provider.run(`truncate property_b`);
    assert.deepEqual(await feed.outbox(), ['t Property ']);
    assert.deepEqual(await feed.events(), ['Property K2']);
    await feed.provider.run(`truncate property`);
    assert.deepEqual(await feed.events(), ['Property K1']);
  });

  it('is told apart where a partition made later lacks the trigger for TRUNCATE, and is corrected', async () => {
    const feed = await openFeed(partitioned, resources);
    assert.equal(await state(feed), 'installed');
    await feed.provider.run(`create table property_c partition of property_bc for values in ('c')`);
    assert.equal(await state(feed), 'different');
    assert.equal((await install(feed)).outcome, 'installed');
    assert.equal(await state(feed), 'installed');
    await feed.provider.run(`truncate property_c`);
    assert.deepEqual(await feed.outbox(), ['t Property ']);
  });

  it('goes on after a partition is detached, and removes what is left on it', async () => {
    const feed = await openFeed(partitioned, resources);
    await feed.provider.run('alter table property detach partition property_a');
    assert.equal(await state(feed), 'installed');
    const { db, tables } = feed.runtime;
    assert.deepEqual(
      (await strayCaptures(db, tables)).map(({ table }) => table),
      ['public.property_a'],
    );
    await removeStrays(db, tables);
    assert.deepEqual(await strayCaptures(db, tables), []);
    assert.equal(await state(feed), 'installed');
    await removeCapture(db, tables);
    const { rows } = await feed.provider.run(`select from pg_trigger where tgname like 'pulsefeed%'`);
    assert.equal(rows.length, 0);
  });

  it('removes what is left of a resource that is not configured any more', async () => {
    const feed = await openFeed(plain, [
      ...resources,
      { name: 'Other', table: 'property', key: 'ListingKey' },
    ]);
    const { db, tables } = feed.runtime;
    const left = tables.filter(({ config }) => config.name === 'Property');
    assert.deepEqual(
      new Set((await strayCaptures(db, left)).map(({ fn }) => fn)),
      new Set(['capture_Other']),
    );
    await removeStrays(db, left);
    await feed.provider.run(`insert into property values ('K1', 1)`);
    assert.deepEqual(await feed.outbox(), ['i Property K1']);
  });

  it('covers tables that inherit', async () => {
    const feed = await openFeed(`${plain}; create table sold () inherits (property)`, resources);
    await feed.provider.run(`insert into sold values ('K1', 1)`);
    assert.deepEqual(await feed.outbox(), ['i Property K1']);
    assert.deepEqual(await feed.events(), ['Property K1']);
  });
});

describe('capture status', () => {
  const drifts: Record<string, [statement: string, state: string]> = {
    'a trigger is disabled': [
      'alter table property disable trigger "pulsefeed_capture_Property"',
      'disabled',
    ],
    'a trigger stopped firing for replicated changes': [
      'alter table property enable trigger "pulsefeed_capture_Property"',
      'different',
    ],
    'a trigger fires for replicated changes only': [
      'alter table property enable replica trigger "pulsefeed_truncate_Property"',
      'different',
    ],
    'a trigger is gone': ['drop trigger "pulsefeed_truncate_Property" on property', 'missing'],
    'a trigger lost an event': [
      `create or replace trigger "pulsefeed_capture_Property" after insert on property
       for each row execute function pulsefeed."capture_Property"()`,
      'different',
    ],
    'the function is gone': ['drop function pulsefeed."capture_Property" cascade', 'missing'],
    'the function was changed': [
      `create or replace function pulsefeed."capture_Property"() returns trigger language plpgsql as 'begin return null; end'`,
      'different',
    ],
    'the function lost its search_path': [
      'alter function pulsefeed."capture_Property" reset search_path',
      'different',
    ],
  };
  it('says what drifted, and an install corrects it', async () => {
    const feed = await openFeed(plain, resources);
    for (const [what, [statement, expected]] of Object.entries(drifts)) {
      assert.equal(await state(feed), 'installed', what);
      await feed.provider.run(statement);
      assert.equal(await state(feed), expected, what);
      assert.equal((await install(feed)).outcome, 'installed', what);
      await feed.provider.run(
        `truncate pulsefeed.record_change; insert into property values ('K1', 1); truncate property`,
      );
      assert.deepEqual(await feed.outbox(), ['i Property K1', 't Property '], what);
    }
    assert.equal(await state(feed), 'installed');
  });

  it('says that a view and a foreign table cannot be captured, and installs nothing on them', async () => {
    const feed = await openFeed(
      `create table t (k text primary key); create view v as select * from t;
       create extension postgres_fdw; create server s foreign data wrapper postgres_fdw;
       create foreign table f (k text) server s`,
      [
        { name: 'Property', table: 'v', key: 'k' },
        { name: 'Office', table: 'f', key: 'k' },
      ],
    );
    const status = await captureStatus(feed.runtime.db, feed.runtime.tables);
    assert.deepEqual(
      status.map(row => row.state),
      ['unsupported', 'unsupported'],
    );
    assert.match(status[0]?.faults[0] ?? '', /view.*reconcile/s);
    assert.match(status[1]?.faults[0] ?? '', /foreign table.*reconcile/s);
  });

  it('serves two resources from one table, and names longer than an identifier', async () => {
    const long = `Property_${'x'.repeat(119)}`;
    const feed = await openFeed(plain, [
      ...resources,
      { name: long, table: 'property', key: 'ListingKey' },
      { name: `${long.slice(0, -1)}y`, table: 'property', key: 'ListingKey' },
    ]);
    await feed.provider.run(`insert into property values ('K1', 1)`);
    assert.equal((await feed.outbox()).length, 3);
    assert.equal((await feed.events()).length, 3);
  });

  it('quotes the names that a provider may give', async () => {
    const feed = await openFeed(
      `create schema "my ""mls"""; create table "my ""mls"""."prop'erty $pulsefeed$" ("it's ""the"" key $pulsefeed$" text primary key)`,
      [
        {
          name: 'Property',
          table: `"my ""mls"""."prop'erty $pulsefeed$"`,
          key: `it's "the" key $pulsefeed$`,
        },
      ],
    );
    assert.equal(await state(feed), 'installed');
    await feed.provider.run(`insert into "my ""mls"""."prop'erty $pulsefeed$" values ('K1')`);
    assert.deepEqual(await feed.events(), ['Property K1']);
  });
});

describe('capture install', () => {
  it('gives up with the name of the holder while a transaction keeps the table, and leaves writers alone', async () => {
    const feed = await openFeed(plain, resources, { capture: false });
    // 1. A writer holds the table in an open transaction.
    const writer = await openSession(feed.url, 'writer');
    await writer.begin();
    await writer.run(`insert into property values ('K1', 1)`);
    // 2. The install is not let in and does not queue.
    const busy = await install(feed);
    assert.equal(busy.outcome, 'busy');
    assert.match(busy.message, new RegExp(`process ${writer.pid} \\(open for \\d+ s\\)`));
    assert.equal(await state(feed), 'missing');
    await assert.rejects(ensureCapture(feed.runtime.db, feed.runtime.tables, patience), { code: 'EE-300' });
    // 3. Another writer still gets through.
    await feed.provider.run(`insert into property values ('K2', 1)`);
    // 4. The transaction ends, and the install goes through.
    await writer.commit();
    assert.equal((await install(feed)).outcome, 'installed');
  });

  it('locks nothing when everything is as it should be', async () => {
    const feed = await openFeed(plain, resources);
    const writer = await openSession(feed.url, 'writer');
    await writer.begin();
    await writer.run(`insert into property values ('K1', 1)`);
    assert.equal((await install(feed)).outcome, 'unchanged');
    await writer.commit();
  });

  it('works on a table of another owner through membership in the owning role', async () => {
    const feed = await openFeed(
      `create role mls_owner; ${plain}; alter table property owner to mls_owner`,
      resources,
      {
        roles: ['feed_member', 'mls_owner'],
        user: {
          name: 'feed_member',
          grants: `grant create on database DATABASE to feed_member; grant mls_owner to feed_member`,
        },
      },
    );
    assert.equal(await state(feed), 'installed');
    // The owner of the table writes without any right on the schema pulsefeed.
    await feed.provider.run('set role mls_owner');
    await feed.provider.run(`insert into property values ('K1', 1)`);
    await feed.provider.run('reset role');
    assert.deepEqual(await feed.events(), ['Property K1']);
  });

  it('is refused without the rights, says what to grant, and prints a script that a superuser can run', async () => {
    const feed = await openFeed(
      `create role mls_owner; ${plain}; alter table property owner to mls_owner`,
      resources,
      {
        capture: false,
        roles: ['feed_reader', 'mls_owner'],
        user: {
          name: 'feed_reader',
          grants: `grant create on database DATABASE to feed_reader; grant select on property to feed_reader`,
        },
      },
    );
    const refused = await install(feed);
    assert.equal(refused.outcome, 'refused');
    assert.match(refused.message, /must be owner|permission denied/);
    assert.match(refused.message, /--sql/);
    await assert.rejects(ensureCapture(feed.runtime.db, feed.runtime.tables), { code: 'EE-707' });
    await feed.provider.run(await captureScript(feed.runtime.db, feed.runtime.tables));
    assert.equal(await state(feed), 'installed');
    await feed.provider.run(`insert into property values ('K1', 1)`);
    assert.deepEqual(await feed.events(), ['Property K1']);
  });
});
