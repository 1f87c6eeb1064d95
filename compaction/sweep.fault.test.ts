import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect, type Db } from '../server/base/db/index.ts';
import { isSwept, openLog, type RetireCheck, retireFromStart, sweep } from '../server/log/index.ts';
import { atTestEnd } from '../testing/cleanup.ts';
import { compiled } from '../testing/compiled.ts';
import { testDatabase } from '../testing/postgres.ts';
import { until } from '../testing/until.ts';
import { buildFilledLog, digestOfLog, filledPulses } from './cases/filled-log.ts';
import { compact } from './index.ts';

const kills = Number(process.env.PULSEFEED_TORTURE_COMPACTION_KILLS ?? 3);
const now = () => performance.now();
const rest = async () => undefined;
const lag = { events: 0n };

/** A filled log of its own, by address and open. */
async function filledLog(): Promise<{ readonly url: string; readonly db: Db }> {
  const { url, drop } = await testDatabase({ template: buildFilledLog, name: 'filled' });
  atTestEnd(drop);
  const db = await connect({ databaseUrl: url, dataDir: '', poolSize: 4, applicationName: 'under-test' });
  atTestEnd(() => db.close());
  return { url, db };
}

const finish = (db: Db) => compact({ db, log: openLog(db), lag, limit: 20_000, rest, now });

/** Moments of a run: while it plans, once it dropped, once it moved the watermark past its first, small step. */
const moments = [
  { name: 'it plans', reached: isSwept },
  { name: 'it has dropped', reached: (db: Db) => marked(db, 'dropped > 1000') },
  { name: 'it has moved the watermark', reached: (db: Db) => marked(db, 'done_seq > 1000') },
] as const;

async function marked(db: Db, condition: string): Promise<boolean> {
  const [row] = await db.query<{ reached: boolean }>({
    text: `select ${condition} as reached from pulsefeed.compaction`,
  });
  return row?.reached === true;
}

describe('a sweep that is killed', function () {
  this.timeout(60_000 + kills * 20_000);
  let program = '';
  let whole: string | undefined;

  before(async () => {
    program = await compiled(new URL('../server/main.ts', import.meta.url));
    const { db } = await filledLog();
    const { dropped } = await finish(db);
    assert.ok(dropped > filledPulses / 2);
    whole = await digestOfLog(db);
  });

  it(`with its process, by SIGKILL, ${kills} times, leaves what the next run makes whole`, async () => {
    for (let kill = 0; kill < kills; kill += 1) {
      const { url, db } = await filledLog();
      const moment = moments[kill % moments.length] ?? moments[0];
      const child = spawn(process.execPath, [program, 'compact', 'run', '--compaction-lag', '0'], {
        env: { ...process.env, DATABASE_URL: url },
        stdio: 'ignore',
      });
      const ended = once(child, 'exit');
      atTestEnd(() => void child.kill('SIGKILL'));
      await until(moment.name, () => moment.reached(db), { withinMs: 30_000, everyMs: 3 });
      child.kill('SIGKILL');
      await ended;
      await finish(db);
      assert.equal(await digestOfLog(db), whole, `killed while ${moment.name}`);
    }
  });

  it(`with its session, before a commit, ${kills} times, leaves what the next run makes whole`, async () => {
    const { db } = await filledLog();
    for (let kill = 0; kill < kills; kill += 1) {
      let parts = 0;
      let fatal: Promise<unknown> | undefined;
      const check: RetireCheck = {
        before: async () => undefined,
        // The deletes and the watermark are written, the commit is not.
        async after(tx) {
          parts += 1;
          if (parts <= 1 + (kill % 8)) return;
          const [self] = await tx.query<{ pid: number }>({ text: 'select pg_backend_pid() as pid' });
          fatal = db.query({ text: 'select pg_terminate_backend($1, 5000)', values: [self?.pid] });
          await fatal;
          await tx.query({ text: 'select 1' });
        },
      };
      const target = BigInt(filledPulses);
      await assert.rejects(sweep({ db, target, rest, now, rows: 2_000, check }));
      await fatal;
      await until('the lock of the lost session to be free', async () => !(await isSwept(db)));
      await retireFromStart(db);
    }
    await finish(db);
    assert.equal(await digestOfLog(db), whole);
  });
});
