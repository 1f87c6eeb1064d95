import assert from 'node:assert/strict';
import { installCapture } from '../server/capture/index.ts';
import { defaultPace, SequencerLoop } from '../server/log/index.ts';
import type { Runtime } from '../server/runtime.ts';
import { openSession } from '../testing/gates.ts';
import { testDatabase } from '../testing/postgres.ts';
import { seededRandom } from '../testing/seeded-random.ts';
import { seed } from './index.ts';
import { expectedOrder, prepare, readLog, type Target, withRuntime } from './seed-fixture.ts';
import { runAndKill, seedInChild } from './seed-kill.ts';

/** How often a seeding process is killed; `npm run torture` raises it. */
const kills = Number(process.env.PULSEFEED_TORTURE ?? 3);

const target = (url: string): Target => ({ databaseUrl: url, dataDir: '' });

async function database(size: number): Promise<Target & { url: string; drop: () => Promise<void> }> {
  const { url, drop } = await testDatabase({
    template: base => prepare(target(base), size),
    name: `seed-${size}`,
  });
  return { url, drop, ...target(url) };
}

/** Numbers all that waits in the outbox. */
async function sequenceAll(runtime: Runtime): Promise<void> {
  const sequencer = runtime.sequencer();
  for (let steps = 0; steps < 1_000; steps += 1) {
    if ((await sequencer.step()).kind === 'idle') break;
  }
  await sequencer.close();
}

describe('seeding from tables', () => {
  it('numbers by level, time with none first, rank, and key byte by byte, whatever the chunks', async () => {
    const expected = expectedOrder(400);
    for (const chunkSize of [50_000, 7]) {
      const at = await database(400);
      await withRuntime(at, async runtime => {
        const report = await seed(runtime, { chunkSize });
        assert.equal(report.seeded, expected.length);
        assert.equal(report.passedOver, 0);
        assert.deepEqual(await readLog(runtime.db), expected);
      });
      await at.drop();
    }
  });

  it('reports rows, duplicates and what is new for each resource in order', async () => {
    const at = await database(400);
    await withRuntime(at, async runtime => {
      const { resources } = await seed(runtime);
      assert.deepEqual(
        resources.map(({ resource, level, rows, duplicates, fresh }) => [
          resource,
          level,
          rows,
          duplicates,
          fresh,
        ]),
        [
          ['Office', 0, 8, 0, 8],
          ['Teams', 0, 12, 0, 12],
          ['Property', 1, 400, 0, 400],
          ['Member', 1, 20, 0, 20],
          ['Media', 2, 440, 40, 400],
        ],
      );
    });
    await at.drop();
  });

  it('leaves out and counts keys that are null or too long for the feed', async () => {
    const at = await database(400);
    await withRuntime(at, async runtime => {
      await runtime.db.script(`insert into property ("ListingKey") values (repeat('é', 255)), (repeat('x', 256));
        insert into media ("MediaKey") values (null), (null)`);
      const { resources, seeded } = await seed(runtime);
      assert.equal(seeded, expectedOrder(400).length + 1);
      assert.deepEqual(
        resources
          .filter(({ unusable }) => unusable > 0)
          .map(({ resource, unusable }) => [resource, unusable]),
        [
          ['Property', 1],
          ['Media', 2],
        ],
      );
    });
    await at.drop();
  });

  it('seeds only what has no event yet when it is run again', async () => {
    const at = await database(400);
    const before = expectedOrder(400);
    await withRuntime(at, async runtime => {
      await seed(runtime);
      assert.deepEqual(await seed(runtime).then(({ seeded, resumed }) => [seeded, resumed]), [0, 0]);
      await runtime.db.script(`insert into property ("ListingKey") values ('new 2'), ('new 1');
        insert into office ("OfficeKey", "ModificationTimestamp") values ('new 3', now())`);
      const report = await seed(runtime);
      assert.equal(report.seeded, 3);
      assert.deepEqual(await readLog(runtime.db), [
        ...before,
        'Office new 3',
        'Property new 1',
        'Property new 2',
      ]);
    });
    await at.drop();
  });

  it('writes nothing in a dry run and shows what the real run then does', async () => {
    const at = await database(400);
    const expected = expectedOrder(400);
    await withRuntime(at, async runtime => {
      const dry = await seed(runtime, { dryRun: true });
      const counted = `select (select count(*)::int from pulsefeed.seed_entry) + (select count(*)::int from pulsefeed.resource)
        + (select count(*)::int from pulsefeed.record_state) + (select last_seq::int from pulsefeed.log_head) as written`;
      assert.deepEqual(await runtime.db.query({ text: counted }), [{ written: 0 }]);
      assert.deepEqual(
        dry.first.map(({ resource, key }) => `${resource} ${key}`),
        expected.slice(0, 10),
      );
      assert.deepEqual(dry.first.map(({ modified }) => modified).slice(0, 2), [null, null]);
      const real = await seed(runtime);
      assert.deepEqual(dry.resources, real.resources);
      assert.equal(
        real.seeded,
        dry.resources.reduce((sum, { fresh }) => sum + fresh, 0),
      );
    });
    await at.drop();
  });

  it('refuses to number under other resources than the log was set up with', async () => {
    const at = await database(400);
    await withRuntime(at, async runtime => {
      await runtime.db.script(`update pulsefeed.rule_set set digest = 'other'`);
      await assert.rejects(seed(runtime), /EE-301|other resources/);
    });
    await at.drop();
  });
});

describe('seeding while the provider writes', () => {
  it('gives every record its event when rows change between lining up and numbering', async () => {
    const at = await database(400);
    await withRuntime(at, async runtime => {
      await installCapture(runtime.db, runtime.tables);
      const writer = await openSession(at.url, 'writer');
      const holder = await openSession(at.url, 'holder');
      // 1. A transaction has written and stays open. 2. Another session holds the head, so nothing is numbered.
      await writer.begin();
      await writer.run(`insert into property ("ListingKey", "ListOfficeKey") values ('open', 'O1')`);
      // 3. Records are lined up; the first numbering step finds the head taken.
      let lined: () => void = () => undefined;
      const linedUp = new Promise<void>(resolve => {
        lined = resolve;
      });
      const stop = new AbortController();
      const running = seed(runtime, { chunkSize: 100, signal: stop.signal }, ({ phase }) => {
        if (phase === 'numbering') lined();
      });
      await linedUp;
      await holder.begin();
      await holder.run('select 1 from pulsefeed.log_head for update');
      // 4. Meanwhile: the open one commits, a lined-up record goes, one changes, one gets another key.
      await writer.run(`delete from property where "ListingKey" = 'ä'`);
      await writer.run(`update property set "ListPrice" = 1 where "ListingKey" = 'Z'`);
      await writer.run(`update property set "ListingKey" = 'moved' where "ListingKey" = 'z'`);
      await writer.commit();
      // 5. The head is free again.
      const { head } = await runtime.log.head();
      await holder.commit();
      const report = await running;
      assert.equal(report.finished, true);
      await sequenceAll(runtime);

      const log = await readLog(runtime.db);
      const lastOf = new Map(log.map((pulse, n) => [pulse, n]));
      const present = await runtime.db.query<{ key: string }>({
        text: 'select "ListingKey" as key from property',
      });
      for (const { key } of present) assert.ok(lastOf.has(`Property ${key}`), key);
      // What changed has a pulse that was numbered after the change was committed.
      for (const key of ['Z', 'moved', 'open'])
        assert.ok((lastOf.get(`Property ${key}`) ?? 0) >= Number(head), key);
      const state = await runtime.db.query<{ key: string }>({
        text: `select key from pulsefeed.record_state s join pulsefeed.resource r on r.id = s.resource_id
          where r.name = 'Property' order by key`,
      });
      assert.deepEqual(
        state.map(({ key }) => key),
        present.map(({ key }) => key).sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b))),
      );
      await writer.close();
      await holder.close();
    });
    await at.drop();
  });

  it('passes over what was numbered after it was lined up, and goes on with what an earlier run lined up', async () => {
    const at = await database(400);
    await withRuntime(at, async runtime => {
      await installCapture(runtime.db, runtime.tables);
      // 1. A run is stopped when it has lined up. 2. A change is captured and numbered.
      const stopped = await seed(runtime, { signal: AbortSignal.abort() });
      assert.deepEqual([stopped.finished, stopped.seeded], [false, 0]);
      await runtime.db.script(`update property set "ListPrice" = 1 where "ListingKey" = 'Z'`);
      await sequenceAll(runtime);
      // 3. The next run meets the record in its turn.
      const report = await seed(runtime);
      const expected = expectedOrder(400);
      assert.deepEqual(
        [report.resumed, report.passedOver, report.seeded],
        [expected.length, 1, expected.length - 1],
      );
      assert.deepEqual(
        report.resources.map(({ fresh }) => fresh),
        [0, 0, 0, 0, 0],
      );
      assert.deepEqual(await readLog(runtime.db), [
        'Property Z',
        ...expected.filter(pulse => pulse !== 'Property Z'),
      ]);
    });
    await at.drop();
  });

  it('doubles and loses nothing beside a running sequencer and writers', async () => {
    const at = await database(1_200);
    await withRuntime(at, async runtime => {
      await installCapture(runtime.db, runtime.tables);
      const loop = new SequencerLoop(runtime.sequencer(), () => undefined, defaultPace);
      loop.start();
      const random = seededRandom();
      let writing = true;
      const touched = new Set<string>();
      const write = async () => {
        while (writing) {
          const i = 20 + random.below(1_100);
          touched.add(String(i));
          await runtime.db.query({
            text: `update property set "ListPrice" = "ListPrice" + 1 where "ListingKey" = 'L' || md5($1)`,
            values: [String(i)],
          });
        }
      };
      const writers = [write(), write()];
      const report = await seed(runtime, { chunkSize: 40 });
      writing = false;
      await Promise.all(writers);
      await loop.stop();
      await sequenceAll(runtime);
      assert.ok(touched.size > 10, `${touched.size} records were written`);

      const log = await readLog(runtime.db);
      const counts = new Map<string, number>();
      for (const pulse of log) counts.set(pulse, (counts.get(pulse) ?? 0) + 1);
      const expected = expectedOrder(1_200);
      assert.deepEqual([...counts.keys()].sort(), [...expected].sort(), random.seed);
      const changed = await runtime.db.query<{ key: string }>({
        text: `select 'Property L' || md5(i) as key from unnest($1::text[]) i`,
        values: [[...touched]],
      });
      for (const { key } of changed) counts.delete(key);
      assert.deepEqual(
        [...counts].filter(([, count]) => count > 1),
        [],
        random.seed,
      );
      const fresh = report.resources.reduce((sum, resource) => sum + resource.fresh, 0);
      assert.equal(report.seeded + report.passedOver, fresh);
    });
    await at.drop();
  });

  it('lets changes through while it numbers, without a server', async () => {
    const at = await database(400);
    await withRuntime(at, async runtime => {
      await runtime.log.append('crm', [{ resource: 'Sale', key: 'live', op: 'upsert' }]);
      // Each reading of this clock is 300 ms after the last.
      let ms = 0;
      const now = () => {
        ms += 300;
        return ms;
      };
      await seed(runtime, { chunkSize: 50, now });
      const log = await readLog(runtime.db);
      const position = log.indexOf('Sale live');
      assert.ok(position > 0 && position < log.length - 100, `at ${position} of ${log.length}`);
    });
    await at.drop();
  });

  it('goes on beside a second run as if it were one', async () => {
    const at = await database(1_200);
    await withRuntime(at, runtime =>
      withRuntime(at, async other => {
        const reports = await Promise.all([
          seed(runtime, { chunkSize: 100 }),
          seed(other, { chunkSize: 100 }),
        ]);
        assert.equal(reports[0].seeded + reports[1].seeded, expectedOrder(1_200).length);
        assert.deepEqual(await readLog(runtime.db), expectedOrder(1_200));
      }),
    );
    await at.drop();
  });
});

describe('a seeding process that is killed', () => {
  it('has numbered nothing twice and lost nothing when it is run again', async function () {
    this.timeout(20_000 * (kills + 1));
    const expected = expectedOrder(1_200);
    const random = seededRandom();
    const at = await database(1_200);
    // Reading, lining up and 65 steps give progress; each process dies at one of these.
    for (let kill = 0; kill < kills; kill += 1) {
      await runAndKill(at, 40, kill === 0 ? 2 : 3 + random.below(Math.ceil(120 / kills)));
    }
    await seedInChild(at, 40);
    await withRuntime(at, async runtime => {
      assert.deepEqual(await readLog(runtime.db), expected, random.seed);
      const [left] = await runtime.db.query<{ left: number }>({
        text: 'select count(*)::int as left from pulsefeed.seed_entry',
      });
      assert.equal(left?.left, 0);
    });
    await at.drop();
  });
});
