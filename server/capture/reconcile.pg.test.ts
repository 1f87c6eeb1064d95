import assert from 'node:assert/strict';
import { type FeedFixture, openFeed } from '../../testing/captured-feed.ts';
import { openSession } from '../../testing/gates.ts';
import { installCapture, type ReconcileOptions, reconcile, removeCapture } from './index.ts';

const ddl = `
  create table office ("OfficeKey" text primary key);
  create table property ("ListingKey" text primary key, "OfficeKey" text, "ListPrice" numeric,
    "ModificationTimestamp" timestamptz not null)`;
const office = { name: 'Office', table: 'office', key: 'OfficeKey' };
const property = {
  name: 'Property',
  table: 'property',
  key: 'ListingKey',
  modified: 'ModificationTimestamp',
  parents: [{ resource: 'Office', column: 'OfficeKey' }],
};
const old = `'2020-01-01'`;

/** Reconciles, and returns the counts that are not zero, resource by resource. */
async function differences(feed: FeedFixture, options: ReconcileOptions = {}): Promise<object> {
  const results = await reconcile(await feed.parts(), options);
  return Object.fromEntries(
    results.map(result => [
      result.resource,
      Object.fromEntries(
        (['fresh', 'gone', 'moved', 'modified', 'tooLong'] as const)
          .filter(name => result[name] > 0)
          .map(name => [name, result[name]]),
      ),
    ]),
  );
}

describe('reconcile', () => {
  it('misses nothing that happened while capture was removed', async () => {
    const feed = await openFeed(ddl, [office, property]);
    await feed.provider.run(
      `insert into property select 'K' || n, null, 1, ${old} from generate_series(1, 9) n`,
    );
    await feed.events();
    await removeCapture(feed.runtime.db, feed.runtime.tables);
    await feed.provider.run(`
      insert into office values ('O1');
      insert into property values ('new', null, 1, ${old});
      delete from property where "ListingKey" = 'K1';
      update property set "OfficeKey" = 'O1' where "ListingKey" = 'K2';
      update property set "ListPrice" = 2, "ModificationTimestamp" = now() - interval '5 s' where "ListingKey" = 'K3';
      update property set "ListingKey" = 'renamed' where "ListingKey" = 'K4'`);
    await installCapture(feed.runtime.db, feed.runtime.tables);
    assert.deepEqual(await differences(feed), {
      Office: { fresh: 1 },
      Property: { fresh: 2, gone: 2, moved: 1, modified: 1 },
    });
    assert.deepEqual(
      new Set(await feed.events()),
      new Set(['Office O1', ...['new', 'K1', 'K2', 'K3', 'K4', 'renamed'].map(key => `Property ${key}`)]),
    );
    assert.deepEqual(await differences(feed, { marginMs: 0 }), { Office: {}, Property: {} });
  });

  it('writes nothing on a dry run, and names keys that differ', async () => {
    const feed = await openFeed(ddl, [office, property], { capture: false });
    await feed.provider.run(`insert into property values ('K1', null, 1, ${old}), ('K2', null, 1, ${old})`);
    const results = await reconcile(await feed.parts(), { dryRun: true, resources: ['Property'] });
    assert.deepEqual(
      results.map(({ resource, live, fresh, sample }) => ({ resource, live, fresh, sample })),
      [{ resource: 'Property', live: 2, fresh: 2, sample: ['K1', 'K2'] }],
    );
    assert.deepEqual(await feed.outbox(), []);
  });

  it('counts a record as modified from the margin before its last pulse on', async () => {
    const feed = await openFeed(ddl, [office, property]);
    await feed.provider.run(`insert into property values ('K1', null, 1, ${old}), ('K2', null, 1, ${old})`);
    await feed.events();
    await removeCapture(feed.runtime.db, feed.runtime.tables);
    const change = (key: string, ago: string) =>
      feed.provider.run(
        `update property set "ModificationTimestamp" = now() - $2::interval where "ListingKey" = $1`,
        [key, ago],
      );
    // Made an hour before the pulse by its own clock, and committed after it.
    await change('K1', '1 hour');
    assert.deepEqual(await differences(feed, { dryRun: true }), { Office: {}, Property: {} });
    assert.deepEqual(await differences(feed, { dryRun: true, marginMs: 2 * 3_600_000 }), {
      Office: {},
      Property: { modified: 1 },
    });
    await change('K2', '5 minutes');
    assert.deepEqual(await differences(feed, { dryRun: true }), { Office: {}, Property: { modified: 1 } });
    const since = new Date(Date.now() - 60_000);
    assert.deepEqual(await differences(feed, { dryRun: true, since }), { Office: {}, Property: {} });
  });

  it('says what it cannot see without a modified column', async () => {
    const { modified: _, ...blind } = property;
    const feed = await openFeed(ddl, [office, blind]);
    await feed.provider.run(`insert into property values ('K1', null, 1, now())`);
    await feed.events();
    await removeCapture(feed.runtime.db, feed.runtime.tables);
    await feed.provider.run(`update property set "ListPrice" = 2`);
    const [, result] = await reconcile(await feed.parts());
    assert.equal(result?.modified, 0);
    assert.match(result?.notes[0] ?? '', /no modified column is configured/);
  });

  it('reads modified columns of other types and says so', async () => {
    const types = [
      ['timestamp', 'read as UTC'],
      ['date', 'is a date'],
      ['text', 'not a time'],
    ] as const;
    const feed = await openFeed(
      types.map(([type]) => `create table by_${type} (k text primary key, m ${type})`).join(';'),
      types.map(([type]) => ({ name: type, table: `by_${type}`, key: 'k', modified: 'm' })),
    );
    for (const [type] of types) {
      await feed.provider.run(`insert into by_${type} values ('K1', '2020-01-01'), ('null', null)`);
    }
    await feed.events();
    await removeCapture(feed.runtime.db, feed.runtime.tables);
    for (const [type] of types) {
      await feed.provider.run(
        `update by_${type} set m = (now() at time zone 'UTC')::${type} where m is not null`,
      );
    }
    const results = await reconcile(await feed.parts());
    assert.deepEqual(
      results.map(({ modified }) => modified),
      [1, 1, 0],
    );
    types.forEach(([, note], n) => {
      assert.match(results[n]?.notes.join() ?? '', new RegExp(note));
    });
  });

  it('walks keys of every common type in small chunks without losing or repeating one', async () => {
    const types: Record<string, string> = {
      integer: `n`,
      bigint: `n - 5000000000`,
      numeric: `n / 10.0`,
      uuid: `md5(n::text)::uuid`,
      text: `chr(64 + n) || case when n % 2 = 0 then '''"' else 'ü' end`,
      'char(6)': `repeat('x', n % 5) || n`,
      'varchar(20)': `'K ' || n`,
      date: `'2020-01-01'::date + n`,
    };
    const entries = Object.entries(types).map(([type, value], n) => ({ name: `R${n}`, type, value }));
    const feed = await openFeed(
      entries
        .map(
          ({ name, type, value }) => `create table "${name}" (k ${type} primary key);
            insert into "${name}" select ${value} from generate_series(1, 25) n`,
        )
        .join(';'),
      entries.map(({ name }) => ({ name, table: `"${name}"`, key: 'k' })),
      { capture: false },
    );
    for (const { live, fresh, resource } of await reconcile(await feed.parts(), { chunkSize: 4 })) {
      assert.deepEqual([live, fresh], [25, 25], resource);
    }
    assert.equal((await feed.events()).length, 25 * entries.length);
    for (const { name } of entries) await feed.provider.run(`delete from "${name}"`);
    for (const { stored, gone, resource } of await reconcile(await feed.parts(), { chunkSize: 4 })) {
      assert.deepEqual([stored, gone], [25, 25], resource);
    }
    assert.equal((await feed.events()).length, 25 * entries.length);
  });

  it('sees a table without a unique key: rows that share one are looked at together', async () => {
    const feed = await openFeed(
      `create table property ("ListingKey" text); create index on property ("ListingKey");
       insert into property select 'K' || n / 5 from generate_series(0, 24) n;
       insert into property values (null), (''), (repeat('x', 256))`,
      [{ name: 'Property', table: 'property', key: 'ListingKey' }],
      { capture: false },
    );
    const [result] = await reconcile(await feed.parts(), { chunkSize: 3 });
    assert.equal(result?.live, 27);
    assert.equal(result?.tooLong, 1);
    assert.deepEqual(
      new Set(await feed.events()),
      new Set(['', 'K0', 'K1', 'K2', 'K3', 'K4'].map(key => `Property ${key}`)),
    );
    assert.deepEqual(await differences(feed), { Property: { tooLong: 1 } });
  });

  it('sees the rows of a partition that was attached or detached', async () => {
    const feed = await openFeed(
      `create table property ("ListingKey" text primary key) partition by range ("ListingKey");
       create table property_a partition of property for values from ('a') to ('b');
       create table property_b ("ListingKey" text primary key)`,
      [{ name: 'Property', table: 'property', key: 'ListingKey' }],
    );
    await feed.provider.run(`insert into property values ('a1'); insert into property_b values ('b1')`);
    await feed.events();
    await feed.provider.run(`alter table property detach partition property_a;
      alter table property attach partition property_b for values from ('b') to ('c')`);
    assert.deepEqual(await feed.events(), []);
    assert.deepEqual(await differences(feed), { Property: { fresh: 1, gone: 1 } });
    assert.deepEqual(await feed.events(), ['Property b1', 'Property a1']);
  });

  it('loses nothing beside a writer that has not committed', async () => {
    const feed = await openFeed(ddl, [office, property]);
    // 1. A writer has inserted a record and deleted another, and stays open.
    await feed.provider.run(`insert into property values ('K1', null, 1, ${old})`);
    await feed.events();
    const writer = await openSession(feed.url, 'writer');
    await writer.begin();
    await writer.run(`delete from property`);
    await writer.run(`insert into property values ('K2', null, 1, ${old})`);
    // 2. Reconciling sees what is committed: nothing differs.
    assert.deepEqual(await differences(feed, { marginMs: 0 }), { Office: {}, Property: {} });
    // 3. The writer commits; its own rows bring the pulses.
    await writer.commit();
    assert.deepEqual(await feed.events(), ['Property K2', 'Property K1']);
  });

  it('refuses a resource that is not configured', async () => {
    const feed = await openFeed(ddl, [office]);
    await assert.rejects(reconcile(await feed.parts(), { resources: ['Propety'] }), { code: 'EE-705' });
  });
});
