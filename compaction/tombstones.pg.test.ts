import assert from 'node:assert/strict';
import { issueConsumer } from '../server/access/index.ts';
import { unobserved } from '../server/base/observe.ts';
import { dropTombstones } from '../server/log/index.ts';
import { changeConsumer } from '../server/visibility/index.ts';
import { atTestEnd } from '../testing/cleanup.ts';
import { openSession } from '../testing/gates.ts';
import { drain, type LogDatabase, logDatabase } from '../testing/log-database.ts';
import { type ServedFeeds, serveFeeds } from '../testing/served-feeds.ts';
import { TombstoneLoop } from './index.ts';

const day = 86_400;
/** Makes everything that is numbered so far older than the ninety days that are kept here. */
const age = (db: LogDatabase['db']) =>
  db.script(`
insert into pulsefeed.log_time (seq, at) select last_seq, now() from pulsefeed.log_head on conflict (seq) do nothing;
update pulsefeed.log_time set at = least(at, now() - interval '91 days')`);

const drop = (db: LogDatabase['db'], limit = 1_000) => dropTombstones(db, { olderThanS: 90 * day, limit });

interface Page {
  readonly value: readonly { EntityEventSequence: number; ResourceName: string; ResourceRecordKey: string }[];
  readonly '@odata.nextLink'?: string;
  readonly '@odata.deltaLink'?: string;
  readonly error?: { code: string; message: string };
}

/** A consumer that speaks HTTP in pages of five. */
function consumerOf(url: string, token: string) {
  const headers = { Authorization: `Bearer ${token}`, Prefer: 'odata.maxpagesize=5, odata.track-changes' };
  const ask = async (target: string) => {
    const answer = await fetch(target.startsWith('http') ? target : `${url}/${target}`, { headers });
    return {
      status: answer.status,
      location: answer.headers.get('location'),
      page: (await answer.json()) as Page,
    };
  };
  const copy = new Map<string, unknown>();
  /** Fetches what a page names. */
  const take = async (page: Page) => {
    for (const { ResourceName, ResourceRecordKey } of page.value) {
      const answer = await fetch(`${url}/${ResourceName}('${ResourceRecordKey}')`, { headers });
      const name = `${ResourceName} ${ResourceRecordKey}`;
      if (answer.status === 404) copy.delete(name);
      else copy.set(name, await answer.json());
    }
  };
  const from = (sequence: number | bigint, kind = 'gt') =>
    ask(`EntityEvent?$filter=EntityEventSequence ${kind} ${sequence}`);
  return { ask, take, from, copy };
}

async function openOffice(options: Parameters<typeof serveFeeds>[0] = {}) {
  const served = await serveFeeds(options);
  await served.write(`insert into property select 'p' || g, null, 1, 0 from generate_series(1, 30) g`);
  await served.number();
  return served;
}

async function visible(served: ServedFeeds): Promise<string[]> {
  const rows = await served.runtime.db.query<{ key: string }>({
    text: 'select "ListingKey" as key from property where a = 1',
  });
  return rows.map(({ key }) => `Property ${key}`).sort();
}

describe('tombstones', () => {
  it('that are kept let a consumer that knows only its last number initialise to the end, under compaction', async () => {
    const served = await openOffice();
    const { token } = await served.consumer('plain', ['IDX']);
    const { from, take, copy } = consumerOf(served.urls[0] ?? '', token ?? '');
    let last = 0;
    for (let turn = 0; ; turn += 1) {
      const { status, page } = await from(last);
      assert.equal(status, 200);
      await take(page);
      if (page.value.length === 0) break;
      last = page.value.at(-1)?.EntityEventSequence ?? last;
      if (turn < 8) {
        await served.write(`
update property set a = 1 where "ListingKey" = 'p${turn + 1}';
delete from property where "ListingKey" = 'p${turn + 12}';
update property set a = 2 where "ListingKey" = 'p${30 - turn}'`);
        await served.number();
        await served.runtime.log.retire({ lag: { events: 0n }, limit: 1_000 });
      }
    }
    assert.deepEqual([...copy.keys()].sort(), await visible(served));
  });

  it('that are dropped let one that follows nextLink initialise, however slowly', async () => {
    const served = await openOffice();
    const { db } = served.runtime;
    await served.write(
      `delete from property where "ListingKey" in ('p2', 'p9'); update property set a = 2 where "ListingKey" = 'p20'`,
    );
    await served.number();
    const { token } = await served.consumer('links', ['IDX']);
    const { ask, from, take, copy } = consumerOf(served.urls[0] ?? '', token ?? '');
    let { page } = await from(0, 'ge');
    // Everything numbered before the walk began grows old while it goes on; what is removed meanwhile does not.
    await age(db);
    for (let turn = 0; ; turn += 1) {
      await take(page);
      if (turn < 3) {
        await served.write(`
delete from property where "ListingKey" = 'p${turn + 3}';
update property set a = 2 where "ListingKey" = 'p${turn + 25}';
insert into property values ('new ${turn}', null, 1, 0)`);
        await served.number();
      }
      await drop(db);
      if (page['@odata.nextLink'] === undefined) break;
      const next = await ask(page['@odata.nextLink']);
      assert.equal(next.status, 200);
      page = next.page;
    }
    assert.deepEqual([...copy.keys()].sort(), await visible(served));
    const [state] = await db.query<{ dropped: bigint }>({ text: 'select dropped from pulsefeed.tombstone' });
    assert.ok((state?.dropped ?? 0n) >= 3n);
    // Its deltaLink, and the last number it met, are good for going on.
    assert.equal((await ask(page['@odata.deltaLink'] ?? '')).status, 200);
    assert.equal((await from(page.value.at(-1)?.EntityEventSequence ?? 0)).status, 200);
  });

  it('that are dropped are told to every stale one: plain, walking, and with a deltaLink', async () => {
    const served = await openOffice();
    const { token } = await served.consumer('stale', ['IDX']);
    const { ask, from } = consumerOf(served.urls[0] ?? '', token ?? '');
    const walking = (await from(0, 'ge')).page['@odata.nextLink'] ?? '';
    const goingOn = (await from(3)).page['@odata.nextLink'] ?? '';
    const delta = (await from(28)).page['@odata.deltaLink'] ?? '';
    await served.write(
      `delete from property where "ListingKey" in ('p1', 'p2', 'p3'); insert into property values ('later', null, 1, 0)`,
    );
    await served.number();
    await age(served.runtime.db);
    assert.deepEqual(
      [(await ask(walking)).status, (await from(12)).status],
      [200, 200],
      'as long as all is kept',
    );
    // Begun after the removals were numbered, but not with nothing.
    const late = (await from(12)).page['@odata.nextLink'] ?? '';
    await drop(served.runtime.db);
    for (const stale of [walking, goingOn, delta, late]) {
      const { status, page, location } = await ask(stale);
      assert.deepEqual([status, page.error?.code], [410, 'EE-105'], stale);
      assert.match(
        page.error?.message ?? '',
        /Start again with \$filter=EntityEventSequence ge 0, follow each nextLink/,
      );
      assert.equal((await ask(location ?? '')).status, 200);
    }
    for (const [number, kind] of [
      [12, 'gt'],
      [1, 'gt'],
      [32, 'gt'],
      [13, 'ge'],
    ] as const) {
      assert.equal((await from(number, kind)).status, 410, `${kind} ${number}`);
    }
    for (const [number, kind] of [
      [0, 'ge'],
      [0, 'gt'],
      [1, 'ge'],
      [33, 'gt'],
      [34, 'gt'],
      [12, 'eq'],
    ] as const) {
      assert.equal((await from(number, kind)).status, 200, `${kind} ${number}`);
    }
    assert.equal((await ask('EntityEvent')).status, 200);
    assert.equal((await ask('EntityEvent?$orderby=EntityEventSequence desc')).status, 200);
  });

  it('leave a feed its last pulse, so that a consumer whose feed is quiet is not sent back for ever', async () => {
    const feeds = {
      IDX: { Property: 'a eq 1', Media: { inherit: 'Property' } },
      VOW: { Property: 'a ge 1', Media: { inherit: 'Property' } },
    };
    const served = await openOffice({ feeds });
    await served.write(`update property set a = 2 where "ListingKey" = 'p7'`);
    await served.number();
    await served.write(
      `update property set v = 1 where "ListingKey" <> 'p7'; delete from property where "ListingKey" = 'p8'`,
    );
    await served.write(`update property set a = 2`);
    await served.number();
    await served.write(`delete from property where "ListingKey" = 'p9'; update property set v = 3`);
    await served.number();
    await age(served.runtime.db);
    for (let round = 0; round < 2; round += 1) {
      await drop(served.runtime.db);
      const { token } = await served.consumer(`quiet ${round}`, ['IDX']);
      const { ask, from } = consumerOf(served.urls[0] ?? '', token ?? '');
      let { page } = await from(0, 'ge');
      let last = 0;
      for (;;) {
        last = page.value.at(-1)?.EntityEventSequence ?? last;
        if (page['@odata.nextLink'] === undefined) break;
        page = (await ask(page['@odata.nextLink'])).page;
      }
      const { status, page: empty } = await from(last);
      assert.deepEqual([status, empty.value], [200, []]);
      await served.write(`delete from property where "ListingKey" = 'p${round + 10}'`);
      await served.number();
      await age(served.runtime.db);
    }
  });

  it('go with the postings of narrow feeds, whose horizon is their own', async () => {
    const feeds = {
      IDX: { Property: 'a eq 1' },
      Mine: { Property: 'ListOfficeKey eq @consumer.OfficeKey' },
    };
    const served = await serveFeeds({ feeds });
    const { db } = served.runtime;
    const attributes = { OfficeKey: ['O1'] };
    const { token } = await issueConsumer(db, {
      name: 'office',
      feeds: ['Mine'],
      attributes,
      scopes: ['read'],
    });
    await db.query({ text: 'update pulsefeed.visibility_walk set finished_at = now()' });
    await served.write(`insert into property select 'p' || g, 'O1', 1, 0 from generate_series(1, 4) g`);
    await served.write(`insert into property select 'q' || g, 'O2', 1, 0 from generate_series(1, 4) g`);
    await served.number();
    await served.write(`delete from property where "ListingKey" in ('p1', 'q1')`);
    await served.number();
    await served.write(`insert into property values ('p5', 'O1', 1, 0), ('q5', 'O2', 1, 0)`);
    await served.number();
    await served.write(`delete from property where "ListingKey" = 'q2'`);
    await served.number();
    await served.write(`insert into property values ('q6', 'O2', 1, 0)`);
    await served.number();
    await age(db);
    await drop(db);
    const [stray] = await db.query({
      text: 'select from pulsefeed.event_feed p where not exists (select from pulsefeed.entity_event e where e.seq = p.seq)',
    });
    assert.equal(stray, undefined);
    const { from } = consumerOf(served.urls[0] ?? '', token ?? '');
    // p1 went at 9 or 10, q2 at 13, which is not its business.
    assert.equal((await from(8)).status, 410);
    assert.deepEqual([(await from(11)).status, (await from(12)).status], [200, 200]);
    const { page } = await from(0, 'ge');
    assert.deepEqual(
      page.value.map(row => row.ResourceRecordKey),
      ['p2', 'p3', 'p4', 'p5'],
    );
  });

  it('that a consumer lost with a feed are its own horizon, for it is not told of them any more', async () => {
    const feeds = { IDX: { Property: 'a eq 1' }, VOW: { Property: 'a ge 1' } };
    const served = await openOffice({ feeds });
    const { db } = served.runtime;
    const { token } = await served.consumer('both', ['IDX', 'VOW']);
    const { from } = consumerOf(served.urls[0] ?? '', token ?? '');
    await served.write(`update property set a = 2 where "ListingKey" = 'p1'`);
    await served.number();
    await served.write(`update property set a = 0 where "ListingKey" = 'p1'`);
    await served.number();
    await served.write(`insert into property values ('last', null, 1, 0)`);
    await served.number();
    await age(db);
    await drop(db);
    assert.deepEqual([(await from(32)).status, (await from(33)).status], [410, 200]);
    // 33 took the record from VOW, 32 from IDX.
    await changeConsumer(db, 'both', { grants: ['IDX'] });
    assert.deepEqual([(await from(32)).status, (await from(33)).status], [410, 200]);
  });

  it('wait while compaction works or a consumer is still being told what it lost, and are looked at once', async () => {
    const log = await logDatabase();
    await log.write(`insert into showing ("ShowingId") select generate_series(1, 10)`);
    await drain(log.sequencer());
    await log.write('delete from showing where "ShowingId" < 5');
    await drain(log.sequencer());
    assert.deepEqual(await drop(log.db), { kind: 'idle' });
    await age(log.db);
    const compactor = await openSession(log.url, 'compactor');
    atTestEnd(() => compactor.close());
    await compactor.run('begin; select from pulsefeed.compaction for update');
    assert.deepEqual(await drop(log.db), { kind: 'standby' });
    await compactor.run('rollback');
    await log.write(
      `insert into pulsefeed.visibility_walk (kind, feeds, other_feeds) values ('revoke', '{1}', '{}')`,
    );
    assert.deepEqual(await drop(log.db), { kind: 'idle' });
    await log.write('update pulsefeed.visibility_walk set finished_at = now()');
    const steps = [];
    for (let outcome = await drop(log.db, 4); outcome.kind === 'dropped'; outcome = await drop(log.db, 4)) {
      steps.push([outcome.examined, outcome.dropped, outcome.upTo]);
    }
    // The last pulse, 14, is the feed's last.
    assert.deepEqual(steps, [
      [4, 4, 4n],
      [4, 0, 8n],
      [4, 2, 12n],
      [2, 1, 14n],
    ]);
    const page = await log.log.read({ where: { text: 'true', values: [] }, limit: 100 });
    assert.deepEqual(
      page.pulses.map(({ sequence }) => Number(sequence)),
      [5, 6, 7, 8, 9, 10, 14],
    );
  });

  it('are dropped by the loop, which stops when it is told to', async () => {
    const log = await logDatabase();
    await log.write(`insert into showing ("ShowingId") select generate_series(1, 10)`);
    await drain(log.sequencer());
    await log.write('delete from showing where "ShowingId" < 5');
    await drain(log.sequencer());
    await log.write('insert into showing values (11)');
    await drain(log.sequencer());
    await age(log.db);
    let dropped = 0;
    await new Promise<void>(resolve => {
      const loop = new TombstoneLoop({
        db: log.db,
        olderThanS: day,
        limit: 3,
        observe: seen => {
          if (seen.kind !== 'TombstonesDropped') return unobserved(seen);
          dropped += seen.dropped;
          if (seen.upTo === 15n) void loop.stop().then(resolve);
        },
      });
      loop.start();
    });
    assert.equal(dropped, 8);
  });
});
