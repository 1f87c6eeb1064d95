import assert from 'node:assert/strict';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { embeddedFolder } from '../../testing/embedded-folder.ts';
import type { temporaryFolder } from '../../testing/temporary-folder.ts';
import { connect, type Db } from '../base/db/index.ts';
import { chance } from './chance.ts';
import type { Edit } from './edit-scene.ts';
import { changePrice } from './listing-edits.ts';
import { type EditTiming, LiveEdits } from './live-edits.ts';
import { moveAgent } from './roster-edits.ts';
import { createSample } from './sample-mls.ts';
import { readSampleState } from './sample-state.ts';
import { sampleTables } from './tables.ts';

/** Rounds of the long test; PULSEFEED_TORTURE_DEMO_ROUNDS raises it. */
const rounds = Number(process.env.PULSEFEED_TORTURE_DEMO_ROUNDS ?? 500);

/** Time that moves three seconds with every look, and a timer that the test sets off. */
class HandTiming implements EditTiming {
  #at = Date.parse('2025-07-01T00:00:00.000Z');
  waiting: (() => void) | undefined;

  now(): Date {
    this.#at += 3_000;
    return new Date(this.#at);
  }

  after(_ms: number, run: () => void): () => void {
    this.waiting = run;
    return () => {
      this.waiting = undefined;
    };
  }
}

describe('live edits', function () {
  this.timeout(120_000);
  const listings = 200;
  let db: Db;
  let folder: Awaited<ReturnType<typeof temporaryFolder>>;

  before(async () => {
    folder = await embeddedFolder('edits');
    db = await connect({ dataDir: folder.path });
  });
  after(async () => {
    await db.close();
    await folder.remove();
  });
  beforeEach(async () => {
    await db.script(
      `drop schema if exists pulsefeed_demo cascade; drop table if exists ${sampleTables.join(', ')} cascade`,
    );
    await createSample(db, { seed: 5, listings });
  });

  function editing(onEdit: (text: string) => void = () => undefined) {
    const errors: unknown[] = [];
    const timing = new HandTiming();
    const onError = (error: unknown) => errors.push(error);
    return { errors, timing, edits: new LiveEdits({ db, timing, everyMs: 1_000, onEdit, onError }) };
  }

  async function digest(): Promise<string> {
    const [row] = await db.query<{ digest: string }>({
      text: `select md5(string_agg(row::text, e'\\n' order by row::text collate "C")) as digest from (${sampleTables
        .map(table => `select '${table}' || t::text as row from public.${table} t`)
        .join(' union all ')}) rows`,
    });
    return row?.digest ?? '';
  }

  /** Makes edits of one kind in one transaction; returns how many found something to do. */
  function applied(edit: Edit, times: number): Promise<number> {
    return db.transaction(async tx => {
      const state = await readSampleState(tx);
      let done = 0;
      for (let number = 0; number < times; number += 1) {
        const scene = { tx, state: { ...state, edits: number }, now: new Date('2025-07-01T00:00:00.000Z') };
        if ((await edit({ ...scene, chance: chance(9, 'test', number) })) !== undefined) done += 1;
      }
      return done;
    });
  }

  async function numbers(text: string): Promise<Record<string, number>> {
    const [row] = await db.query<Record<string, number>>({ text });
    return row ?? {};
  }

  it(`keep the sample within bounds over ${rounds} rounds, and no edit fails`, async () => {
    const seen = new Map<string, number>();
    const { edits, errors } = editing(text => {
      const kind = text.replace(/ .*|:.*/, '');
      seen.set(kind, (seen.get(kind) ?? 0) + 1);
    });
    for (let round = 0; round < rounds; round += 1) await edits.round();
    assert.deepEqual(errors, []);
    const found = await numbers(`select count(*)::int as listings,
        (count(*) filter (where "StandardStatus" = 'Active'))::int as active,
        (count(*) filter (where "StandardStatus" = 'Closed'))::int as closed,
        (select count(*) from media)::int as photos,
        (select count(*) from open_house)::int as "openHouses",
        (count(*) filter (where not "InternetEntireListingDisplayYN"))::int as hidden,
        (count(*) filter (where "ListPrice" not between "OriginalListPrice" * 0.7 and "OriginalListPrice" * 1.3))::int as "oddPrices"
      from property`);
    const { listings: count = 0, active = 0, closed = 0, photos = 0, openHouses = 0, hidden = 0 } = found;
    assert.ok(count >= listings * 0.95 && count <= listings * 1.05, `${count} listings`);
    assert.ok(active > listings * 0.15 && active < listings * 0.7, `${active} active`);
    assert.ok(closed < listings * 0.6, `${closed} closed`);
    assert.ok(photos > listings * 4 && photos < listings * 9, `${photos} photos`);
    assert.ok(openHouses < listings * 0.4 && hidden < listings * 0.3, `${openHouses}, ${hidden}`);
    assert.equal(found.oddPrices, 0);
    for (const kind of ['price', 'status', 'sold', 'new', 'deleted', 'photo', 'open']) {
      assert.ok((seen.get(kind) ?? 0) > 0, kind);
    }
  });

  it('keep photos counted, listings with the office of their agent, and closed ones complete', async () => {
    const { edits, errors } = editing();
    for (let round = 0; round < 120; round += 1) await edits.round();
    assert.deepEqual(errors, []);
    const wrong = await numbers(`select
        (count(*) filter (where "PhotosCount" <> (select count(*) from media where "ResourceRecordKey" = "ListingKey")))::int as counted,
        (count(*) filter (where "StandardStatus" not in ('Closed', 'Canceled', 'Expired')
          and "ListOfficeKey" <> (select m."OfficeKey" from member m where "MemberKey" = "ListAgentKey")))::int as office,
        (count(*) filter (where ("StandardStatus" = 'Closed') <> ("ClosePrice" is not null and "CloseDate" is not null
          and "BuyerAgentKey" is not null)))::int as closed,
        (count(*) filter (where "ModificationTimestamp" < "OriginalEntryTimestamp"))::int as times
      from property`);
    assert.deepEqual(wrong, { counted: 0, office: 0, closed: 0, times: 0 });
  });

  it('are the same again on the same sample, also with a restart in between', async () => {
    const first = editing();
    for (let round = 0; round < 40; round += 1) await first.edits.round();
    const once = await digest();
    await db.script(`drop schema pulsefeed_demo cascade; drop table ${sampleTables.join(', ')} cascade`);
    await createSample(db, { seed: 5, listings });
    const { timing, edits } = editing();
    for (let round = 0; round < 20; round += 1) await edits.round();
    const later = new LiveEdits({ db, timing, everyMs: 1_000 });
    for (let round = 0; round < 20; round += 1) await later.round();
    assert.equal(await digest(), once);
  });

  it('come by the timer, and end before stopping has ended', async () => {
    const { edits, timing } = editing();
    edits.start();
    const first = timing.waiting;
    assert.ok(first !== undefined);
    assert.equal((await readSampleState(db)).edits, 0);
    // 1. Somebody holds the only session, so that the round, once begun, cannot get on.
    let letGo: () => void = () => undefined;
    const holding = db.transaction(() => new Promise<void>(resolve => (letGo = resolve)));
    timing.waiting = undefined;
    first();
    // 2. Stopping waits for the round in hand; no further one is planned.
    let stopped = false;
    const stopping = edits.stop().then(() => {
      stopped = true;
    });
    await nextTurn();
    assert.equal(stopped, false);
    // 3. The session is free, the round ends, and nothing comes after it.
    letGo();
    await holding;
    await stopping;
    assert.equal(timing.waiting, undefined);
    const { edits: made } = await readSampleState(db);
    await nextTurn();
    assert.equal((await readSampleState(db)).edits, made);
  });

  it('do not delete from a sample that has shrunk, nor add to one that has grown', async () => {
    const count = async () => (await numbers('select count(*)::int as count from property')).count ?? 0;
    for (const [made, grows] of [
      [230, true],
      [180, false],
    ] as const) {
      await db.query({ text: 'update pulsefeed_demo.sample set listings = $1', values: [made] });
      const { edits, errors } = editing();
      let before = await count();
      for (let round = 0; round < 60; round += 1) {
        await edits.round();
        const now = await count();
        assert.ok(grows ? now >= before : now <= before, `${before} -> ${now} of ${made}`);
        before = now;
        if (Math.abs(now - made) <= made * 0.05) break;
      }
      assert.deepEqual(errors, []);
    }
  });

  it('keep prices near the first one, however often they change', async () => {
    await db.script(`update property set "StandardStatus" = 'Closed' where "ListingKey" not in (
      select "ListingKey" from property where "StandardStatus" = 'Active' order by 1 limit 2)`);
    await applied(changePrice, 500);
    const far = await numbers(`select (count(*) filter (where "ListPrice" not between
        "OriginalListPrice" * 0.75 and "OriginalListPrice" * 1.2))::int as far,
      (count(*) filter (where "MajorChangeType" = 'Price Change'))::int as changed from property`);
    assert.deepEqual(far, { far: 0, changed: 2 });
  });

  it('move an agent together with the listings that are not settled', async () => {
    assert.ok((await applied(moveAgent, 40)) > 20);
    const wrong = await numbers(`select
        (count(*) filter (where "StandardStatus" not in ('Closed', 'Canceled', 'Expired') and
          ("ListOfficeKey", "ListOfficeName") <> (m."OfficeKey", m."OfficeName")))::int as left,
        (count(*) filter (where "StandardStatus" = 'Closed' and "ListOfficeKey" <> m."OfficeKey"))::int > 0 as stayed
      from property join member m on "MemberKey" = "ListAgentKey"`);
    assert.deepEqual(wrong, { left: 0, stayed: true });
  });

  it('go on after a round that failed, and say it once', async () => {
    const { edits, errors } = editing();
    await db.script('alter table pulsefeed_demo.sample rename to away');
    await edits.round();
    await edits.round();
    assert.equal(errors.length, 1);
    await db.script('alter table pulsefeed_demo.away rename to sample');
    await edits.round();
    assert.equal(errors.length, 1);
    assert.ok((await readSampleState(db)).edits > 0);
  });

  it('leave nothing behind of an edit that fails in the middle', async () => {
    // The state is written last, after all that the edit did.
    await db.script(`create function refuse() returns trigger language plpgsql as $$
      begin raise exception 'refused'; end $$;
      create trigger refuse before update on pulsefeed_demo.sample execute function refuse()`);
    const before = await digest();
    const { edits, errors } = editing();
    for (let round = 0; round < 5; round += 1) await edits.round();
    await db.script('drop function refuse cascade');
    assert.equal(errors.length, 1);
    assert.equal(await digest(), before);
  });

  it('do not try the same edit for ever when it cannot be made', async () => {
    await db.script('alter table public.property add constraint refuse check (false) not valid');
    const { edits, errors } = editing();
    for (let round = 0; round < 5; round += 1) await edits.round();
    assert.ok(errors.length > 0);
    assert.ok((await readSampleState(db)).edits >= 5);
  });
});
