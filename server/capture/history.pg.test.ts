import assert from 'node:assert/strict';
import { type FeedFixture, openFeed, openFeedRuntime } from '../../testing/captured-feed.ts';
import { openSession } from '../../testing/gates.ts';
import { readResourceTables } from '../base/catalog/index.ts';
import type { ResourceConfig } from '../base/config/index.ts';
import { captureStatus, installCapture } from './index.ts';

const table = `
  create table property (
    "ListingKey" varchar(25) primary key, "ListPrice" numeric(12,2), "City" text, "Note" text, "Tags" text[],
    "At" timestamptz, "Span" interval
  )`;
const resource: ResourceConfig = {
  name: 'Property',
  table: 'property',
  key: 'ListingKey',
  fields: { Note: false },
  history: true,
};

/** What is written down, as `seq key field: before -> after`; a dash stands for a row without a number. */
async function history({ provider }: FeedFixture): Promise<string[]> {
  const { rows } = await provider.run<{ line: string }>(
    `select concat(coalesce(seq::text, '-'), ' ', key, ' ', field, ': ', coalesce(previous_value, 'null'), ' -> ',
       coalesce(new_value, 'null')) as line
     from pulsefeed.history order by seq nulls last, id`,
  );
  return rows.map(({ line }) => line);
}

async function forget({ provider }: FeedFixture): Promise<void> {
  await provider.run('delete from pulsefeed.history');
}

describe('the history that capture writes', () => {
  it('has a row for each field that changed, in their order, and gets the number of the change', async () => {
    const feed = await openFeed(table, [resource]);
    await feed.provider.run(`insert into property ("ListingKey", "ListPrice") values ('K1', 100)`);
    assert.deepEqual(await history(feed), ['- K1 ListingKey: null -> K1', '- K1 ListPrice: null -> 100.00']);
    await feed.drain();
    await feed.provider.run(
      `update property set "ListPrice" = 90.5, "City" = 'Zürich', "Tags" = '{a,"b c"}', "Note" = 'x'`,
    );
    await feed.provider.run(`update property set "City" = 'Zürich'`);
    await feed.drain();
    assert.deepEqual(await history(feed), [
      '1 K1 ListingKey: null -> K1',
      '1 K1 ListPrice: null -> 100.00',
      '2 K1 ListPrice: 100.00 -> 90.50',
      '2 K1 City: null -> Zürich',
      '2 K1 Tags: null -> ["a","b c"]',
    ]);
  });

  it('links two changes that fold into one pulse to its number, in the order in which they were made', async () => {
    const feed = await openFeed(table, [resource]);
    await feed.provider.run(`insert into property ("ListingKey", "ListPrice") values ('K1', 1), ('K2', 2)`);
    await feed.drain();
    await forget(feed);
    await feed.provider.run(`update property set "ListPrice" = 10 where "ListingKey" = 'K1'`);
    await feed.provider.run(`update property set "City" = 'A' where "ListingKey" = 'K2'`);
    await feed.provider.run(`update property set "ListPrice" = 11, "City" = 'B' where "ListingKey" = 'K1'`);
    assert.deepEqual(await feed.events(), ['Property K1', 'Property K2', 'Property K2', 'Property K1']);
    assert.deepEqual(await history(feed), [
      '3 K2 City: null -> A',
      '4 K1 ListPrice: 1.00 -> 10.00',
      '4 K1 ListPrice: 10.00 -> 11.00',
      '4 K1 City: null -> B',
    ]);
  });

  it('is told with the removal of a record, and goes with a change that nobody was told of', async () => {
    const feed = await openFeed(table, [resource]);
    await feed.provider.run(`insert into property ("ListingKey", "City") values ('K1', 'A')`);
    await feed.provider.run(`insert into property ("ListingKey", "City") values ('K2', 'B')`);
    await feed.provider.run(`delete from property where "ListingKey" = 'K2'`);
    await feed.drain();
    const first = ['1 K1 ListingKey: null -> K1', '1 K1 City: null -> A'];
    assert.deepEqual(await history(feed), first, 'nobody was told of K2');
    await feed.provider.run(`delete from property`);
    await feed.drain();
    assert.deepEqual(await history(feed), [...first, '2 K1 ListingKey: K1 -> null', '2 K1 City: A -> null']);
  });

  it('belongs to both records when a key changes', async () => {
    const feed = await openFeed(table, [resource]);
    await feed.provider.run(`insert into property ("ListingKey", "City") values ('K1', 'A')`);
    await feed.drain();
    await forget(feed);
    await feed.provider.run(`update property set "ListingKey" = 'K2'`);
    await feed.drain();
    assert.deepEqual(await history(feed), [
      '2 K2 ListingKey: null -> K2',
      '2 K2 City: null -> A',
      '3 K1 ListingKey: K1 -> null',
      '3 K1 City: A -> null',
    ]);
  });

  it('waits for its own change where another transaction of the same record was numbered before', async () => {
    const feed = await openFeed(table, [resource]);
    await feed.provider.run(`insert into property ("ListingKey") values ('K1')`);
    await feed.drain();
    await forget(feed);
    // 1. A begins and writes another record, so that its transaction id is the smaller one.
    const slow = await openSession(feed.url, 'slow');
    await slow.run(`begin; insert into property ("ListingKey") values ('K9')`);
    // 2. B changes K1, commits and is numbered.
    await feed.provider.run(`update property set "City" = 'B'  where "ListingKey" = 'K1'`);
    await feed.drain();
    // 3. A changes K1 and commits.
    await slow.run(`update property set "City" = 'A' where "ListingKey" = 'K1'; commit`);
    await slow.close();
    assert.deepEqual(await history(feed), [
      '2 K1 City: null -> B',
      '- K9 ListingKey: null -> K9',
      '- K1 City: B -> A',
    ]);
    await feed.drain();
    assert.deepEqual(await history(feed), [
      '2 K1 City: null -> B',
      '3 K9 ListingKey: null -> K9',
      '4 K1 City: B -> A',
    ]);
  });

  it('of a transaction that is larger than a step is numbered with it', async () => {
    const feed = await openFeed(table, [resource]);
    await feed.provider.run(
      `insert into property ("ListingKey", "ListPrice") select 'K' || n, n from generate_series(1, 500) n`,
    );
    const { runtime } = feed;
    const sequencer = runtime.log.sequence({
      loadSources: () => runtime.rules.load(),
      numbering: last => last + 1n,
      batchSize: 60,
    });
    const settle = async () => {
      for (let step = 0; (await sequencer.step()).kind === 'numbered'; step += 1) assert.ok(step < 200);
    };
    await settle();
    await feed.provider.run(`begin; update property set "ListPrice" = "ListPrice" + 1;
      update property set "City" = 'C' where "ListPrice" > 251; commit`);
    // 1. The large transaction is being taken. 2. Another changes a record of it. 3. The large one is numbered.
    for (let step = 0; step < 3; step += 1) await sequencer.step();
    await feed.provider.run(`update property set "City" = 'Z' where "ListingKey" = 'K500'`);
    await settle();
    await sequencer.close();
    const numbers = await feed.provider.run<{ numbers: number }>(
      `select count(distinct seq)::int as numbers from pulsefeed.history where key = 'K500'`,
    );
    assert.deepEqual(numbers.rows, [{ numbers: 3 }]);
    const { rows } = await feed.provider.run<{ wrong: number; total: number }>(
      `select count(*) filter (where e.seq is null or e.key <> h.key)::int as wrong, count(*)::int as total
       from pulsefeed.history h left join pulsefeed.entity_event e on e.seq = h.seq`,
    );
    assert.deepEqual(rows, [{ wrong: 0, total: 1000 + 500 + 250 + 1 }]);
  });

  it('writes times, spans and numbers the same whatever the session of the writer likes', async () => {
    const feed = await openFeed(table, [resource]);
    await feed.provider.run(
      `set timezone = 'America/New_York'; set intervalstyle = 'sql_standard'; set datestyle = 'German';
       insert into property ("ListingKey", "At", "Span") values ('K1', '2024-07-01 12:00:00.5+00', '1 day 2 hours')`,
    );
    assert.deepEqual((await history(feed)).slice(1), [
      '- K1 At: null -> 2024-07-01T12:00:00.5+00:00',
      '- K1 Span: null -> P1DT2H',
    ]);
  });

  it('never makes a write fail: columns added, renamed and dropped under open sessions', async () => {
    const feed = await openFeed(table, [resource]);
    const writer = await openSession(feed.url, 'writer');
    await writer.run(`insert into property ("ListingKey", "City", "Note") values ('K1', 'A', 'n')`);
    await feed.provider.run(
      `alter table property drop column "ListPrice", add column "Added" integer;
       alter table property rename column "City" to "Town"`,
    );
    await feed.drain();
    await forget(feed);
    await writer.run(`update property set "Town" = 'B', "Added" = 7`);
    await writer.run('truncate property');
    await writer.close();
    assert.deepEqual(await history(feed), ['- K1 Town: A -> B', '- K1 Added: null -> 7']);
    assert.deepEqual(await feed.outbox(), ['u Property K1', 't Property ']);
  });

  it('is switched by the configuration, which the verbs of capture know', async () => {
    const { history: _, ...plain } = resource;
    const feed = await openFeed(table, [plain]);
    const { db, tables } = feed.runtime;
    await feed.provider.run(`insert into property ("ListingKey") values ('K1')`);
    assert.deepEqual(await history(feed), []);
    const state = async (config: ResourceConfig) =>
      (await captureStatus(db, await readResourceTables(db, [config])))[0]?.state;
    assert.equal(await state(plain), 'installed');
    assert.equal(await state(resource), 'different');
    const kept = await openFeedRuntime(feed.url, [resource]);
    const [result] = await installCapture(db, kept.tables);
    await kept.close();
    assert.equal(result?.outcome, 'installed');
    assert.equal(await state(resource), 'installed');
    assert.equal(await state({ ...resource, fields: {} }), 'different');
    await feed.provider.run(`insert into property ("ListingKey") values ('K2')`);
    assert.deepEqual(await history(feed), ['- K2 ListingKey: null -> K2']);
    await installCapture(db, tables);
    assert.equal(await state(plain), 'installed');
    await feed.provider.run(`insert into property ("ListingKey") values ('K3')`);
    assert.equal((await history(feed)).length, 1);
  });
});
