import assert from 'node:assert/strict';
import { temporaryFolder } from '../../testing/temporary-folder.ts';
import { connect, type Db } from '../base/db/index.ts';
import { type EditTiming, LiveEdits } from './live-edits.ts';
import { createSample } from './sample-mls.ts';
import { readSampleState } from './sample-state.ts';
import { sampleTables } from './tables.ts';

/** Rounds of the long test; PULSEFEED_DEMO_ROUNDS raises it. */
const rounds = Number(process.env.PULSEFEED_DEMO_ROUNDS ?? 500);

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
    folder = await temporaryFolder('edits');
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

  it('come by the timer, one round after the other, until they are stopped', async () => {
    const texts: string[] = [];
    const { edits, timing } = editing(text => texts.push(text));
    edits.start();
    const first = timing.waiting;
    assert.ok(first !== undefined);
    assert.deepEqual(texts, []);
    timing.waiting = undefined;
    first();
    // A round is under way: the next one is not planned before it has ended.
    assert.equal(timing.waiting, undefined);
    await edits.stop();
    assert.equal(timing.waiting, undefined);
    const { edits: made } = await readSampleState(db);
    assert.ok(made <= 1);
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

  it('leave nothing behind of an edit that fails in the middle, and do not try the same one for ever', async () => {
    // Deferred: it is the commit that fails, after all that the edit did.
    await db.script(`create function refuse() returns trigger language plpgsql as $$
      begin raise exception 'refused'; end $$;
      ${sampleTables
        .map(
          table => `create constraint trigger refuse after insert or update or delete on public.${table}
            deferrable initially deferred for each row execute function refuse();`,
        )
        .join('\n')}`);
    const before = await digest();
    const { edits, errors } = editing();
    for (let round = 0; round < 5; round += 1) await edits.round();
    assert.ok(errors.length > 0);
    assert.ok((await readSampleState(db)).edits >= 5);
    await db.script('drop function refuse cascade');
    assert.equal(await digest(), before);
  });
});
