import assert from 'node:assert/strict';
import { PulsefeedError } from '../server/base/errors.ts';
import { dropTombstones, sweep } from '../server/log/index.ts';
import { applyFeeds, changeConsumer, stepWalk } from '../server/visibility/index.ts';
import { type SeededRandom, seededRandom } from '../testing/seeded-random.ts';
import { resources } from '../testing/simulated-provider.ts';
import { type Consumer, type VisibilityFixture, visibilityFixture } from '../testing/visibility-fixture.ts';

const histories = Number(process.env.PULSEFEED_TORTURE_ALL_AT_ONCE ?? 2);
const keptS = 90 * 86_400;

const feedsWhere = (idx: string, vow: string, office: string) => ({
  IDX: { Property: idx, Media: { inherit: 'Property' } },
  VOW: { Property: vow, Media: { inherit: 'Property' } },
  OFFICE: { Property: `ListOfficeKey eq @consumer.OfficeKey and ${office}`, Media: { inherit: 'Property' } },
});
const first = feedsWhere('a eq 1', 'a ge 1', 'a ge 0');
const rules = [first, feedsWhere('a ge 1', 'a eq 2', 'a ge 1'), feedsWhere('a eq 2', 'a eq 1', 'a ge 0')];
const grants = [['IDX'], ['VOW'], ['IDX', 'VOW'], ['OFFICE'], ['IDX', 'OFFICE'], ['VOW', 'OFFICE'], []];
const keys = [0, 1, 2, 3, 4, 5].flatMap(n => [`P${n}`, `M${n}`]);

describe('consumers of a log that is numbered in parts, stepped, swept and loses removals, while rules and grants change', function () {
  this.timeout(60_000);

  // One test each, since a test keeps its databases open to its end.
  for (let history = 1; history <= histories; history += 1) {
    it(`end with exactly what they may see, however far behind they were (history ${history})`, () =>
      randomHistory(seededRandom()));
  }
});

interface Reader {
  readonly consumer: Consumer;
  readonly copy: Map<string, string>;
  origin: bigint;
  at: bigint;
  begun: bigint | undefined;
}

async function randomHistory(random: SeededRandom): Promise<void> {
  const fixture = await visibilityFixture(first, 4);
  const readers: Reader[] = [];
  for (const name of ['c1', 'c2', 'c3']) {
    const consumer = await fixture.consumer(name, pick(random, grants), [`O${random.below(2)}`]);
    readers.push({ consumer, copy: new Map(), origin: 0n, at: 0n, begun: undefined });
  }
  for (let version = 1; version <= 150; version += 1) {
    const turn = random.below(8);
    if (turn < 3) await writeSomething(fixture, random, version);
    else if (turn < 5) await compactSomething(fixture, random);
    else if (turn < 6) await changeAccess(fixture, random);
    else if (turn < 7) await workSomething(fixture, random);
    else await readSomething(fixture, pick(random, readers), random);
  }
  for (let round = 0; round < 60; round += 1) await fixture.settle();
  for (const reader of readers) {
    for (let turn = 0; !(await readPage(fixture, reader)); turn += 1) assert.ok(turn < 300, random.seed);
    const truth: [string, string][] = [];
    for (const key of keys) {
      const version = await fetchRecord(fixture, reader, key);
      if (version !== undefined) truth.push([key, version]);
    }
    assert.deepEqual([...reader.copy].sort(), truth.sort(), `${random.seed} ${reader.consumer.name}`);
  }
}

/** A page, or all there is: who was at the head and stays behind has most to lose. */
async function readSomething(
  fixture: VisibilityFixture,
  reader: Reader,
  random: SeededRandom,
): Promise<void> {
  for (let pages = pick(random, [1, 30]); pages > 0 && !(await readPage(fixture, reader)); pages -= 1);
}

async function writeSomething({ write }: VisibilityFixture, random: SeededRandom, version: number) {
  const key = random.below(6);
  const writes = [
    `insert into property values ('P${key}', 'O${random.below(2)}', ${random.below(3)}, ${version}) on conflict ("ListingKey")
     do update set a = excluded.a, v = excluded.v, "ListOfficeKey" = excluded."ListOfficeKey"`,
    `insert into media values ('M${key}', 'P${random.below(6)}', 1, ${version}) on conflict ("MediaKey")
     do update set "ResourceRecordKey" = excluded."ResourceRecordKey", v = excluded.v`,
    `delete from property where "ListingKey" = 'P${key}'`,
    `delete from media where "MediaKey" = 'M${key}'`,
    // More than a step: it becomes a large batch.
    `update property set v = ${version}, a = (a + ${random.below(2)}) % 3`,
  ];
  await write(pick(random, writes));
}

async function compactSomething(fixture: VisibilityFixture, random: SeededRandom): Promise<void> {
  const { db, log } = fixture;
  const { head } = await log.head();
  switch (random.below(3)) {
    case 0:
      await log.retire({ lag: { events: BigInt(random.below(10)) }, limit: 1 + random.below(30) });
      break;
    case 1: {
      const between = async () => {
        if (random.below(2) === 0) await workSomething(fixture, random);
        else await changeAccess(fixture, random);
      };
      if (head > 2n) await sweep({ db, target: head, rows: 5, parts: 2, now: () => 0, rest: between });
      break;
    }
    default:
      // Half the time nobody is still to be told anything, which dropping waits for.
      if (random.below(2) === 0) await fixture.settle();
      await db.script(`
insert into pulsefeed.log_time (seq, at) values (${random.below(Number(head) + 1)}, now() - interval '91 days')
on conflict (seq) do update set at = excluded.at`);
      for (let part = 0; part < 4; part += 1)
        await dropTombstones(db, { olderThanS: keptS, limit: 1 + random.below(10) });
  }
}

async function changeAccess({ db, tables }: VisibilityFixture, random: SeededRandom): Promise<void> {
  if (random.below(4) === 0) {
    await applyFeeds(db, pick(random, rules), resources, tables).catch((error: unknown) => {
      if (!(error instanceof PulsefeedError) || error.code !== 'EE-204') throw error;
    });
    return;
  }
  const change =
    random.below(3) === 0
      ? { attributes: { OfficeKey: [`O${random.below(2)}`] } }
      : { grants: pick(random, grants) };
  await changeConsumer(db, pick(random, ['c1', 'c2', 'c3']), change);
}

async function workSomething(fixture: VisibilityFixture, random: SeededRandom): Promise<void> {
  const { db, rules: book, tables, sequencer } = fixture;
  if (random.below(3) === 0) await stepWalk({ db, rules: book, tables, chunk: 1 + random.below(5) });
  else for (let step = random.below(5); step >= 0; step -= 1) await sequencer.step();
}

/** One page and its fetches, as a client does that follows links; true at the head. */
async function readPage(fixture: VisibilityFixture, reader: Reader): Promise<boolean> {
  const { at, origin, begun } = reader;
  const token = begun === undefined ? {} : { token: { epoch: 1, head: begun, told: at } };
  const where = { text: 'e.seq > $1', values: [at] };
  try {
    const page = await fixture.policy.read(reader.consumer.viewer, async ({ held }) => {
      const standing = { at, origin, ...token };
      const found = await fixture.log.read({ where, above: at, seekOnly: true, held, limit: 4, standing });
      return { ruleVersion: found.ruleVersion, result: found };
    });
    for (const { key } of page.pulses) {
      const version = await fetchRecord(fixture, reader, key);
      if (version === undefined) reader.copy.delete(key);
      else reader.copy.set(key, version);
    }
    reader.at = page.pulses.at(-1)?.sequence ?? at;
    reader.begun ??= page.head;
    if (page.pulses.length === 4) return false;
    // The walk has ended; from here it asks `gt <last>`, a walk of its own each time.
    Object.assign(reader, { origin: reader.at, begun: undefined });
    return true;
  } catch (error) {
    if (!(error instanceof PulsefeedError) || error.code !== 'EE-105') throw error;
    reader.copy.clear();
    Object.assign(reader, { origin: 0n, at: 0n, begun: undefined });
    return false;
  }
}

async function fetchRecord({ db }: VisibilityFixture, { consumer }: Reader, key: string) {
  if (!(await consumer.sees(key))) return undefined;
  const text = key.startsWith('P')
    ? `select v::text as version from property where "ListingKey" = $1`
    : `select v::text as version from media where "MediaKey" = $1`;
  return (await db.query<{ version: string }>({ text, values: [key] }))[0]?.version;
}

function pick<T>(random: SeededRandom, choices: readonly T[]): T {
  const chosen = choices[random.below(choices.length)];
  if (chosen === undefined) throw new Error('nothing to choose from');
  return chosen;
}
