import assert from 'node:assert/strict';
import { atTestEnd } from '../../testing/cleanup.ts';
import { openSession } from '../../testing/gates.ts';
import { gateAt, type LogDatabase, logDatabase } from '../../testing/log-database.ts';
import { until } from '../../testing/until.ts';
import type { Observation } from '../base/observe.ts';
import { publishRules, type Sequencer, SequencerLoop } from './index.ts';

/** Pauses so long that only what is under test can end them. */
const asleep = {
  busyMs: 60_000,
  idleMs: 60_000,
  standbyMs: 60_000,
  failureMs: 60_000,
  failureMostMs: 60_000,
};
const eager = { busyMs: 1, idleMs: 10, standbyMs: 10, failureMs: 5, failureMostMs: 20 };

function startLoop(sequencer: Sequencer, pace = eager) {
  const seen: Observation[] = [];
  const loop = new SequencerLoop(sequencer, observation => seen.push(observation), pace);
  atTestEnd(() => loop.stop());
  loop.start();
  return { loop, seen };
}

const report = ({ log }: LogDatabase, key: string) =>
  log.append(undefined, [{ resource: 'Note', key, op: 'upsert' }]);

const numbered = (log: LogDatabase, keys: readonly string[]) =>
  until(`${keys} to be numbered`, async () => (await log.pulses()).join() === keys.join());

const outcome = (loop: SequencerLoop, wanted: SequencerLoop['state']['outcome']) =>
  until(`the loop to be ${wanted}`, () => loop.state.outcome === wanted);

/** The backends that have the step's temporary tables, which are those of sequencers. */
async function backends({ url }: LogDatabase): Promise<number[]> {
  const observer = await openSession(url, 'observer');
  const { rows } = await observer.run<{ pid: number }>(
    `select pid from pg_stat_activity
     where datname = current_database() and application_name = 'under-test' and query ilike any (array['commit', 'rollback'])`,
  );
  await observer.close();
  return rows.map(({ pid }) => pid);
}

describe('the sequencer loop', () => {
  it('numbers what is committed, without being told', async () => {
    const log = await logDatabase();
    startLoop(log.sequencer());
    await report(log, 'A');
    await numbered(log, ['Note/A']);
    await report(log, 'B');
    await numbered(log, ['Note/A', 'Note/B']);
  });

  it('steps at once when it is poked, in a pause or in the middle of a step', async () => {
    const log = await logDatabase();
    const { loop } = startLoop(log.sequencer(), asleep);
    await outcome(loop, 'idle');
    await report(log, 'A');
    loop.poke();
    await numbered(log, ['Note/A']);
    // 1. A step waits. 2. Another change is committed, and the loop is poked. 3. The step ends.
    const gate = await gateAt(log, 'insert', 'pulsefeed.entity_event');
    await report(log, 'B');
    loop.poke();
    await gate.reached();
    await report(log, 'C');
    loop.poke();
    await gate.open();
    await numbered(log, ['Note/A', 'Note/B', 'Note/C']);
  });

  it('goes on with the next step at once while there is more', async () => {
    const log = await logDatabase();
    await log.write('insert into showing select n, 0 from generate_series(1, 40) n');
    const { loop } = startLoop(log.sequencer({ batchSize: 9 }), asleep);
    await outcome(loop, 'idle');
    assert.equal((await log.log.head()).head, 40n);
  });

  it('goes on after its backend was ended, and tells each failure once', async () => {
    const log = await logDatabase();
    const { loop, seen } = startLoop(log.sequencer());
    await outcome(loop, 'idle');
    const admin = await openSession(log.url, 'admin');
    for (const pid of await backends(log)) await admin.run('select pg_terminate_backend($1)', [pid]);
    await report(log, 'A');
    await numbered(log, ['Note/A']);
    const failures = seen.filter(({ kind }) => kind === 'SequencerFailed');
    assert.equal(failures.length, 1);
    assert.ok(failures[0]?.kind === 'SequencerFailed' && failures[0].transient);
  });

  it('tries again and again while steps fail, more and more slowly, and then goes on', async () => {
    const log = await logDatabase();
    await log.write('alter table pulsefeed.log_head add constraint stuck check (last_seq < 0) not valid');
    await report(log, 'A');
    const { seen } = startLoop(log.sequencer());
    const retries = () =>
      seen.flatMap(observation => (observation.kind === 'SequencerFailed' ? [observation.retryMs] : []));
    await until('four failures', () => retries().length >= 4);
    await log.write('alter table pulsefeed.log_head drop constraint stuck');
    await numbered(log, ['Note/A']);
    assert.deepEqual(retries().slice(0, 4), [5, 10, 20, 20]);
  });

  it('says once that another one numbers, and takes over when that one ends', async () => {
    const log = await logDatabase();
    const gate = await gateAt(log, 'insert', 'pulsefeed.entity_event');
    const holder = startLoop(log.sequencer());
    await report(log, 'A');
    await gate.reached();
    const other = startLoop(log.sequencer());
    await outcome(other.loop, 'standby');
    await gate.open();
    await holder.loop.stop();
    await report(log, 'B');
    await numbered(log, ['Note/A', 'Note/B']);
    assert.deepEqual(
      other.seen.filter(({ kind }) => kind === 'SequencerWaits'),
      [{ kind: 'SequencerWaits', reason: 'standby' }],
    );
  });

  it('stands still under other resources, and says so once', async () => {
    const log = await logDatabase();
    const { loop, seen } = startLoop(log.sequencer());
    await outcome(loop, 'idle');
    await publishRules(log.db, { resources: [{ name: 'Other' }] });
    await outcome(loop, 'rules-differ');
    await report(log, 'A');
    loop.poke();
    const at = loop.state.at;
    await until('another step', () => loop.state.at > at);
    assert.deepEqual(await log.pulses(), []);
    // It may have met the publisher holding the head before.
    const waits = seen.filter(
      seenOne => seenOne.kind === 'SequencerWaits' && seenOne.reason === 'rules-differ',
    );
    assert.equal(waits.length, 1);
  });

  it('stops when the step in hand has ended, and leaves nothing behind', async () => {
    const log = await logDatabase();
    const gate = await gateAt(log, 'insert', 'pulsefeed.entity_event');
    const { loop } = startLoop(log.sequencer());
    await report(log, 'A');
    const pid = await gate.reached();
    let stopped = false;
    const stopping = loop.stop().then(() => {
      stopped = true;
    });
    await report(log, 'B');
    assert.equal(stopped, false);
    await gate.open();
    await stopping;
    assert.deepEqual(await log.pulses(), ['Note/A']);
    // Whoever gets its connection next meets no table of the step and no open transaction.
    const left = await log.db.query({
      text: `select relname from pg_class where relpersistence = 't' and relname like 'sequencer%'`,
    });
    assert.deepEqual(left, []);
    const open = await log.db.query({
      text: `select pid from pg_stat_activity where datname = current_database() and pid = $1 and state like 'idle in%'`,
      values: [pid],
    });
    assert.deepEqual(open, []);
  });

  it('stops at once when it pauses', async () => {
    const log = await logDatabase();
    const { loop } = startLoop(log.sequencer(), asleep);
    await outcome(loop, 'idle');
    await loop.stop();
  });
});
