import assert from 'node:assert/strict';
import { PulsefeedError } from '../server/base/errors.ts';
import { dropTombstones, type Standing } from '../server/log/index.ts';
import { drain, type LogDatabase, logDatabase } from '../testing/log-database.ts';
import { seededRandom } from '../testing/seeded-random.ts';

const keptS = 90 * 86_400;
const histories = Number(process.env.PULSEFEED_TORTURE_TOMBSTONE_HISTORIES ?? 3);

/** Makes what is numbered up to `seq` older than the ninety days that are kept here. */
const ageUpTo = (db: LogDatabase['db'], seq: number) =>
  db.script(`
insert into pulsefeed.log_time (seq, at) values (${seq}, now() - interval '91 days')
on conflict (seq) do update set at = excluded.at`);

describe('readers of a log that drops removals', function () {
  this.timeout(20_000 + histories * 10_000);

  it('that follow links, and start again when they are told to, end with an exact copy in random histories', async () => {
    for (let history = 0; history < histories; history += 1) await randomHistory();
  });
});

interface Reader {
  readonly copy: Map<string, number>;
  origin: bigint;
  at: bigint;
  begun: bigint | undefined;
}

/** One log, three readers at different speeds; drops of any age at any time. */
async function randomHistory(): Promise<void> {
  const random = seededRandom();
  const log = await logDatabase();
  const { db } = log;
  const sequencer = log.sequencer();
  const readers: Reader[] = [0, 1, 2].map(() => ({ copy: new Map(), origin: 0n, at: 0n, begun: undefined }));
  const reader = log.log;

  const read = async (one: Reader): Promise<boolean> => {
    const token = one.begun === undefined ? {} : { token: { epoch: 1, head: one.begun, told: one.at } };
    const standing: Standing = { at: one.at, origin: one.origin, ...token };
    try {
      const { pulses, head } = await reader.read({
        where: { text: 'e.seq > $1', values: [one.at] },
        limit: 4,
        standing,
      });
      for (const { key } of pulses) {
        const [row] = await db.query<{ note: number }>({
          text: 'select note from showing where "ShowingId" = $1',
          values: [key],
        });
        if (row === undefined) one.copy.delete(key);
        else one.copy.set(key, row.note);
      }
      one.at = pulses.at(-1)?.sequence ?? one.at;
      one.begun ??= head;
      if (pulses.length === 4) return false;
      // The walk has ended; from here it asks `gt <last>`, a walk of its own each time.
      Object.assign(one, { origin: one.at, begun: undefined });
      return true;
    } catch (error) {
      if (!(error instanceof PulsefeedError) || error.code !== 'EE-105') throw error;
      one.copy.clear();
      Object.assign(one, { origin: 0n, at: 0n, begun: undefined });
      return false;
    }
  };
  for (let step = 0; step < 80; step += 1) {
    const key = 1 + random.below(8);
    switch (random.below(6)) {
      case 0:
      case 1:
        await log.write(
          `insert into showing values (${key}, ${step}) on conflict ("ShowingId") do update set note = ${step}`,
        );
        break;
      case 2:
        await log.write(`delete from showing where "ShowingId" = ${key}`);
        break;
      case 3:
        await drain(sequencer);
        await ageUpTo(db, random.below(Number((await reader.head()).head) + 1));
        for (let part = 0; part < 5; part += 1)
          await dropTombstones(db, { olderThanS: keptS, limit: 1 + random.below(10) });
        break;
      case 4:
        await drain(sequencer);
        await reader.retire({ lag: { events: 0n }, limit: 100 });
        break;
      default:
        for (const one of readers) if (random.below(2) === 0) await read(one);
    }
    await drain(sequencer);
  }
  const truth = await db.query<{ key: string; note: number }>({
    text: 'select "ShowingId"::text as key, note from showing order by 1',
  });
  for (const one of readers) {
    for (let turn = 0; !(await read(one)); turn += 1) assert.ok(turn < 100, random.seed);
    assert.deepEqual(
      [...one.copy].sort(),
      truth.map(({ key, note }) => [key, note]),
      random.seed,
    );
  }
}
