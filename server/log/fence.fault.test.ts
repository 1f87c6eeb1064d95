import assert from 'node:assert/strict';
import { atTestEnd } from '../../testing/cleanup.ts';
import { openSession } from '../../testing/gates.ts';
import { drain, gateAt, type LogDatabase, logDatabase } from '../../testing/log-database.ts';
import { startSequencerProcess } from '../../testing/sequencer-process.ts';
import { until } from '../../testing/until.ts';
import type { Db, Queryable, Session } from '../base/db/index.ts';

/** The same database, except that `before` runs between the statements of each step, with the statement's number. */
function between(db: Db, before: (statement: number, tx: Queryable) => Promise<void>): Db {
  const session = async (): Promise<Session> => {
    const real = await db.session();
    return {
      close: () => real.close(),
      transaction: (work, options) =>
        real.transaction(async tx => {
          if (options === undefined) return work(tx);
          let statement = 0;
          const held: Queryable = {
            async query<Row>(text: Parameters<Queryable['query']>[0]) {
              await before(++statement, tx);
              return tx.query<Row>(text);
            },
            async script(sql) {
              await before(++statement, tx);
              return tx.script(sql);
            },
          };
          const result = await work(held);
          await before(++statement, tx);
          return result;
        }, options),
    };
  };
  return { ...db, session };
}

async function backendOf(tx: Queryable): Promise<number> {
  const [row] = await tx.query<{ pid: number }>({ text: 'select pg_backend_pid() as pid' });
  return row?.pid ?? 0;
}

/** Ends a backend as an administrator would, and waits until its transaction is gone. */
async function terminate({ url }: LogDatabase, pid: number): Promise<void> {
  const admin = await openSession(url, 'admin');
  await admin.run('select pg_terminate_backend($1)', [pid]);
  const gone = async () =>
    (await admin.run('select from pg_stat_activity where pid = $1', [pid])).rowCount === 0;
  await until('the backend to end', gone);
  await admin.close();
}

/** All that a step changes. */
async function everything({ db }: LogDatabase): Promise<unknown> {
  const tables = await db.query<{ name: string }>({
    text: `select tablename as name from pg_tables where schemaname = 'pulsefeed' order by 1`,
  });
  const rows: unknown[] = [];
  for (const { name } of tables) {
    rows.push(await db.query({ text: `select t::text from pulsefeed.${name} t order by 1` }));
  }
  return rows;
}

/** A transaction that makes every statement of a step do something. */
const changes = (n: number) => `
  insert into office values ('main${n}', null), ('branch${n}', 'main${n}');
  insert into property values ('p${n}', 'branch${n}');
  insert into media values ('m${n}', 'p${n}');
  ${n === 0 ? '' : `delete from office where "OfficeKey" = 'main${n - 1}'`}`;
const ups = (n: number) => [`Office/main${n}`, `Office/branch${n}`, `Property/p${n}`, `Media/m${n}`];
const downs = (n: number) => [`Media/m${n}`, `Property/p${n}`, `Office/branch${n}`, `Office/main${n}`];

describe('sequencers that compete', () => {
  it('number one at a time: the other stands by and takes nothing', async () => {
    const log = await logDatabase();
    const [first, second] = [log.sequencer(), log.sequencer()];
    const gate = await gateAt(log, 'insert', 'pulsefeed.entity_event');
    await log.write(changes(0));
    // 1. The first waits in the middle of its step. 2. The second steps.
    const step = first.step();
    await gate.reached();
    assert.deepEqual(await second.step(), { kind: 'standby' });
    await log.write(changes(1));
    assert.deepEqual(await second.step(), { kind: 'standby' });
    // 3. The first ends its step; the second takes what came later.
    await gate.open();
    assert.equal((await step).kind, 'numbered');
    await drain(second);
    assert.deepEqual(await log.pulses(), [...ups(0), ...ups(1), ...downs(0)]);
  });

  it('leave nothing half done when the backend is ended between any two statements', async () => {
    const log = await logDatabase();
    const survivor = log.sequencer();
    const expected: string[] = [];
    let killed = true;
    let round = 0;
    for (; killed; round++) {
      killed = false;
      const fatal = between(log.db, async (statement, tx) => {
        if (killed || statement !== round + 1) return;
        killed = true;
        await terminate(log, await backendOf(tx));
      });
      const victim = log.sequencer({}, fatal);
      await log.write(changes(round));
      const before = await everything(log);
      const outcome = await victim.step().catch((error: unknown) => error);
      if (killed) {
        assert.ok(outcome instanceof Error, `statement ${round + 1}: ${JSON.stringify(outcome)}`);
        assert.deepEqual(await everything(log), before, `after statement ${round}`);
      }
      await drain(survivor);
      expected.push(...ups(round), ...(round === 0 ? [] : downs(round - 1)));
      const { head } = await log.log.head();
      assert.equal(head, BigInt(expected.length));
      // The victim itself goes on as well: a new session, the same log.
      assert.deepEqual(await victim.step(), { kind: 'idle' });
    }
    assert.ok(round >= 8, `a step has ${round} places to be killed at`);
    assert.deepEqual(await log.pulses(), expected);
  });

  it('leave nothing half done when the backend is ended in the middle of its commit', async () => {
    const log = await logDatabase();
    const [victim, survivor] = [log.sequencer(), log.sequencer()];
    const gate = await gateAt(log, 'insert', 'pulsefeed.entity_event', true);
    await log.write(changes(0));
    const before = await everything(log);
    const failed = assert.rejects(victim.step());
    await terminate(log, await gate.reached());
    await failed;
    assert.deepEqual(await everything(log), before);
    await gate.open();
    await drain(survivor);
    assert.deepEqual(await log.pulses(), ups(0));
  });

  it('go on within 10 s when the process of the holder is stopped with SIGSTOP in the middle of a step', async () => {
    const log = await logDatabase();
    const gate = await gateAt(log, 'insert', 'pulsefeed.entity_event');
    // 1. A process takes the head and waits at the gate.
    const holder = startSequencerProcess({ url: log.url, name: 'holder' });
    atTestEnd(() => holder.kill());
    await log.write(changes(0));
    await gate.reached();
    // 2. It is stopped; its statement ends, and its session idles while it holds the head.
    holder.child.kill('SIGSTOP');
    await gate.open();
    const stoppedAt = performance.now();
    // 3. Another one stands by until the server has shed the holder, then numbers the same changes.
    const other = log.sequencer();
    assert.deepEqual(await other.step(), { kind: 'standby' });
    const outcome = await until(
      'the head to be free',
      async () => {
        const step = await other.step();
        return step.kind === 'standby' ? undefined : step;
      },
      { withinMs: 10_000, everyMs: 100 },
    );
    assert.ok(performance.now() - stoppedAt < 10_000);
    assert.equal(outcome.kind, 'numbered');
    assert.deepEqual(await log.pulses(), ups(0));
    // 4. The stopped process wakes up, finds its session gone, and takes part again.
    holder.child.kill('SIGCONT');
    await other.close();
    await log.write(changes(1));
    const there = async () => (await log.pulses()).length === 12;
    await until('the process to number again', there, { withinMs: 10_000 });
    assert.deepEqual(await log.pulses(), [...ups(0), ...ups(1), ...downs(0)]);
  });
});
