import assert from 'node:assert/strict';
import { openFeed } from '../../testing/captured-feed.ts';
import { openSession } from '../../testing/gates.ts';
import { until } from '../../testing/until.ts';
import { captureStatus, installCapture, removeCapture } from './index.ts';

const property = `create table property ("ListingKey" varchar(25) primary key, "ListPrice" numeric, "OfficeKey" text)`;
const resources = [{ name: 'Property', table: 'public.property', key: 'ListingKey' }];

describe('capture', () => {
  it('leaves one row for an insert, an update and a delete, and each becomes an event', async () => {
    const feed = await openFeed(property, resources);
    await feed.provider.run(`insert into property values ('K1', 1), ('K2', 1)`);
    assert.deepEqual(await feed.outbox(), ['i Property K1', 'i Property K2']);
    assert.deepEqual(await feed.events(), ['Property K1', 'Property K2']);
    await feed.provider.run(`update property set "ListPrice" = 2 where "ListingKey" = 'K1'`);
    assert.deepEqual(await feed.outbox(), ['u Property K1']);
    assert.deepEqual(await feed.events(), ['Property K1']);
    await feed.provider.run(`delete from property where "ListingKey" = 'K2'`);
    assert.deepEqual(await feed.outbox(), ['d Property K2']);
    assert.deepEqual(await feed.events(), ['Property K2']);
  });

  it('leaves a row for the old key and one for the new when the key changes', async () => {
    const feed = await openFeed(property, resources);
    await feed.provider.run(`insert into property values ('old', 1)`);
    await feed.events();
    await feed.provider.run(`update property set "ListingKey" = 'new'`);
    assert.deepEqual(await feed.outbox(), ['d Property old', 'i Property new']);
    assert.deepEqual(await feed.events(), ['Property new', 'Property old']);
  });

  it('takes two keys that a collation holds equal for two keys', async () => {
    const feed = await openFeed(
      `create collation blind (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
       create table property ("ListingKey" text collate blind primary key)`,
      resources,
    );
    await feed.provider.run(`insert into property values ('abc')`);
    await feed.events();
    await feed.provider.run(`update property set "ListingKey" = 'ABC'`);
    assert.deepEqual(await feed.outbox(), ['d Property abc', 'i Property ABC']);
    assert.deepEqual(await feed.events(), ['Property ABC', 'Property abc']);
  });

  it('leaves nothing when the transaction rolls back', async () => {
    const feed = await openFeed(property, resources);
    await feed.provider.begin();
    await feed.provider.run(`insert into property values ('K1', 1)`);
    await feed.provider.rollback();
    assert.deepEqual(await feed.outbox(), []);
    assert.deepEqual(await feed.events(), []);
  });

  it('sees COPY', async () => {
    const feed = await openFeed(property, resources);
    await feed.provider.run(`copy property ("ListingKey") from program 'printf "A\\nB\\nC\\n"'`);
    assert.deepEqual(await feed.outbox(), ['i Property A', 'i Property B', 'i Property C']);
    assert.deepEqual(await feed.events(), ['Property A', 'Property B', 'Property C']);
  });

  it('sees what MERGE inserts, updates and deletes', async () => {
    const feed = await openFeed(property, resources);
    const { rows } = await feed.provider.run<{ v: number }>(
      `select current_setting('server_version_num')::int as v`,
    );
    await feed.provider.run(`insert into property values ('upd', 1), ('del', 1), ('stay', 1)`);
    await feed.events();
    const merge = `merge into property p using (values ('upd', 2), ('del', null), ('ins', 3)) s (k, price)
      on p."ListingKey" = s.k
      when matched and s.price is null then delete
      when matched then update set "ListPrice" = s.price
      when not matched then insert values (s.k, s.price)`;
    // MERGE came with PostgreSQL 15; before it the same changes come as three statements.
    if ((rows[0]?.v ?? 0) >= 150000) await feed.provider.run(merge);
    else {
      await feed.provider.run(
        `update property set "ListPrice" = 2 where "ListingKey" = 'upd';
         delete from property where "ListingKey" = 'del'; insert into property values ('ins', 3)`,
      );
    }
    assert.deepEqual((await feed.outbox()).sort(), ['d Property del', 'i Property ins', 'u Property upd']);
    assert.deepEqual((await feed.events()).sort(), ['Property del', 'Property ins', 'Property upd']);
  });

  it('sees both ways of an upsert', async () => {
    const feed = await openFeed(property, resources);
    const upsert = `insert into property values ('K1', $1), ('K' || $1, 1)
      on conflict ("ListingKey") do update set "ListPrice" = excluded."ListPrice"`;
    await feed.provider.run(upsert, [2]);
    await feed.events();
    await feed.provider.run(upsert, [3]);
    assert.deepEqual(await feed.outbox(), ['u Property K1', 'i Property K3']);
    assert.deepEqual(await feed.events(), ['Property K1', 'Property K3']);
  });

  it('leaves one marker for TRUNCATE, which becomes one event a record', async () => {
    const feed = await openFeed(property, resources);
    await feed.provider.run(`insert into property values ('K1', 1), ('K2', 1)`);
    await feed.events();
    await feed.provider.run('truncate property');
    assert.deepEqual(await feed.outbox(), ['t Property ']);
    assert.deepEqual((await feed.events()).sort(), ['Property K1', 'Property K2']);
  });

  it('sees what cascades from another table, the child gone before its parent', async () => {
    const feed = await openFeed(
      `create table office ("OfficeKey" text primary key);
       create table property ("ListingKey" text primary key,
         "OfficeKey" text references office on delete cascade on update cascade)`,
      [
        { name: 'Office', table: 'office', key: 'OfficeKey' },
        {
          name: 'Property',
          table: 'property',
          key: 'ListingKey',
          parents: [{ resource: 'Office', column: 'OfficeKey' }],
        },
      ],
    );
    await feed.provider.run(`insert into office values ('O1'); insert into property values ('K1', 'O1')`);
    assert.deepEqual(await feed.events(), ['Office O1', 'Property K1']);
    await feed.provider.run(`update office set "OfficeKey" = 'O2'`);
    assert.deepEqual(await feed.outbox(), ['d Office O1', 'i Office O2', 'u Property K1']);
    assert.deepEqual(await feed.events(), ['Office O2', 'Property K1', 'Office O1']);
    await feed.provider.run(`delete from office`);
    assert.deepEqual(await feed.events(), ['Property K1', 'Office O2']);
  });

  it('sees what is written as a replica, such as by logical replication', async () => {
    const feed = await openFeed(property, resources);
    await feed.provider.run(`set session_replication_role = replica`);
    await feed.provider.run(`insert into property values ('K1', 1)`);
    await feed.provider.run(`truncate property`);
    assert.deepEqual(await feed.outbox(), ['i Property K1', 't Property ']);
  });

  it('sees what a subscription applies', async () => {
    const feed = await openFeed(property, resources);
    const publisher = await openFeed(property, resources, { capture: false });
    const { rows } = await publisher.provider.run<{ db: string }>('select current_database() as db');
    const slot = rows[0]?.db ?? '';
    await publisher.provider.run(`insert into property values ('early', 1)`);
    await publisher.provider.run(`create publication p for table property`);
    // Within one server the slot must be made beforehand: creating it waits for the creating transaction itself.
    await publisher.provider.run(`select pg_create_logical_replication_slot($1, 'pgoutput')`, [slot]);
    await feed.provider.run(
      `create subscription ${slot} connection '${publisher.url}' publication p with (create_slot = false, slot_name = '${slot}')`,
    );
    try {
      const applied = (line: string) =>
        until(`${line} to be applied`, async () => (await feed.outbox()).includes(line), {
          withinMs: 15_000,
        });
      await applied('i Property early');
      await publisher.provider.run(`update property set "ListPrice" = 2`);
      await applied('u Property early');
      assert.deepEqual(await feed.events(), ['Property early']);
      await publisher.provider.run(`delete from property`);
      await applied('d Property early');
    } finally {
      await feed.provider.run(`drop subscription ${slot}`);
    }
    assert.deepEqual(await feed.events(), ['Property early']);
  });

  it('carries keys of every common type', async () => {
    const types: Record<string, string[]> = {
      integer: ['1', '2', '-3'],
      bigint: ['1', '9007199254740993'],
      'numeric(20)': ['1', '20'],
      uuid: ['00000000-0000-0000-0000-00000000000a', '00000000-0000-0000-0000-00000000000b'],
      text: ["it's", 'Ünï & / 漢'],
      'char(8)': ['ab', 'abc'],
      'varchar(300)': ['a', 'b b'],
    };
    const entries = Object.entries(types).map(([type, values], n) => ({ name: `R${n}`, type, values }));
    const feed = await openFeed(
      entries.map(({ name, type }) => `create table "${name}" (k ${type} primary key, v integer)`).join(';'),
      entries.map(({ name }) => ({ name, table: `"${name}"`, key: 'k' })),
    );
    for (const { name, values } of entries) {
      for (const value of values) await feed.provider.run(`insert into "${name}" values ($1, 1)`, [value]);
    }
    const all = entries.flatMap(({ name, values }) => values.map(value => `${name} ${value}`));
    assert.deepEqual(await feed.events(), all);
    for (const { name } of entries) await feed.provider.run(`update "${name}" set v = 2`);
    assert.deepEqual(new Set(await feed.events()), new Set(all));
    for (const { name } of entries) await feed.provider.run(`delete from "${name}"`);
    assert.deepEqual(new Set(await feed.events()), new Set(all));
  });

  it('skips a null key and one that is longer than the feed carries', async () => {
    const feed = await openFeed(`create table property ("ListingKey" text unique, v int)`, resources);
    await feed.provider.run(
      `insert into property values (null, 1), (repeat('x', 256), 1), (repeat('y', 255), 1)`,
    );
    assert.deepEqual(await feed.outbox(), [`i Property ${'y'.repeat(255)}`]);
    await feed.provider.run(`update property set "ListingKey" = 'was null' where "ListingKey" is null`);
    await feed.provider.run(`update property set "ListingKey" = null where "ListingKey" = 'was null'`);
    assert.deepEqual((await feed.outbox()).slice(1), ['i Property was null', 'd Property was null']);
    assert.equal((await feed.events()).length, 1);
  });

  it('writes for roles that have no right on the schema pulsefeed', async () => {
    const feed = await openFeed(property, resources);
    await feed.provider.run(
      `create role writer; grant insert, update, delete, truncate, select on property to writer`,
    );
    await feed.provider.run('set role writer');
    await feed.provider.run(`insert into property values ('K1', 1)`);
    await feed.provider.run(`delete from property`);
    await assert.rejects(feed.provider.run('select * from pulsefeed.record_change'), { code: '42501' });
    await feed.provider.run('reset role');
    assert.deepEqual(await feed.outbox(), ['i Property K1', 'd Property K1']);
  });

  it('runs no operator that a writer slips into its own search_path', async () => {
    const feed = await openFeed(property, resources);
    await feed.provider.run(`
      create schema evil;
      create function evil.eq(text, text) returns boolean language plpgsql as
        $$ begin raise exception 'evil operator ran'; end $$;
      create operator evil.= (leftarg = text, rightarg = text, function = evil.eq);
      create operator evil.<> (leftarg = text, rightarg = text, function = evil.eq)`);
    await feed.provider.run('set search_path = evil, public, pg_catalog');
    await feed.provider.run(`insert into property values ('K1', 1)`);
    await feed.provider.run(`update property set "ListPrice" = 2`);
    assert.deepEqual(await feed.outbox(), ['i Property K1', 'u Property K1']);
  });

  it('goes on when the type of the key is altered under a session that has written before', async () => {
    const feed = await openFeed(`create table property ("ListingKey" integer primary key, v int)`, resources);
    await feed.provider.run('insert into property values (1, 1)');
    const owner = await openSession(feed.url, 'owner');
    await owner.run('alter table property alter column "ListingKey" type bigint');
    await feed.provider.run('update property set v = 2');
    await feed.provider.run('insert into property values (5000000000, 1)');
    assert.deepEqual(await feed.outbox(), ['i Property 1', 'u Property 1', 'i Property 5000000000']);
  });

  it('never fails the write when the key column is renamed, and stops the feed loudly instead', async () => {
    const feed = await openFeed(property, resources);
    await feed.provider.run(`insert into property values ('K1', 1)`);
    await feed.events();
    await feed.provider.run('alter table property rename column "ListingKey" to id');
    await feed.provider.run(`update property set "ListPrice" = 2`);
    await assert.rejects(feed.events(), { code: '42703' });
    await feed.provider.run('alter table property rename column id to "ListingKey"');
    assert.deepEqual(await feed.events(), []);
  });

  it('removes everything that it installed, and installs again', async () => {
    const feed = await openFeed(property, resources);
    const { db, tables } = feed.runtime;
    assert.deepEqual(
      (await removeCapture(db, tables)).map(({ outcome }) => outcome),
      ['installed'],
    );
    await feed.provider.run(`insert into property values ('unseen', 1)`);
    assert.deepEqual(await feed.outbox(), []);
    assert.equal((await captureStatus(db, tables))[0]?.state, 'missing');
    const { rows } = await feed.provider.run(
      `select from pg_proc where pronamespace = 'pulsefeed'::regnamespace and proname like 'capture%'`,
    );
    assert.equal(rows.length, 0);
    assert.deepEqual(
      (await installCapture(db, tables)).map(({ outcome }) => outcome),
      ['installed'],
    );
    assert.deepEqual(
      (await installCapture(db, tables)).map(({ outcome }) => outcome),
      ['unchanged'],
    );
    await feed.provider.run(`insert into property values ('seen', 1)`);
    assert.deepEqual(await feed.outbox(), ['i Property seen']);
  });
});
