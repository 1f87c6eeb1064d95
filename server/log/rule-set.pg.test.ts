import assert from 'node:assert/strict';
import { openSession } from '../../testing/gates.ts';
import { drain, gateAt, logDatabase } from '../../testing/log-database.ts';
import { resources } from '../../testing/log-resources.ts';
import { digestOf, publishRules } from './index.ts';

const note = { resource: 'Note', key: 'A', op: 'upsert' } as const;
const otherRules = { resources: [...resources, { name: 'Later' }] };

describe('the rules that numbers are given under', () => {
  it('have one digest whatever the order of their members, and another when a word differs', () => {
    assert.equal(
      digestOf({ resources: [{ a: 1, b: { c: 2, d: [3, { e: 4, f: 5 }] } }] }),
      digestOf({ resources: [{ b: { d: [3, { f: 5, e: 4 }], c: 2 }, a: 1 }] }),
    );
    assert.notEqual(digestOf({ resources: [{ a: [1, 2] }] }), digestOf({ resources: [{ a: [2, 1] }] }));
    assert.notEqual(digestOf({ resources: [] }), digestOf({ resources: [{}] }));
  });

  it('stop a process that was started with others, and take nothing from the outbox', async () => {
    const log = await logDatabase();
    const stranger = log.sequencer({ resources: otherRules.resources });
    await log.log.append(undefined, [note]);
    assert.deepEqual(await stranger.step(), { kind: 'rules-differ' });
    assert.equal((await log.log.head()).head, 0n);
    await drain(log.sequencer());
    assert.deepEqual(await log.pulses(), ['Note/A']);
  });

  it('stop the old processes and start the new ones in the moment in which they are published', async () => {
    const log = await logDatabase();
    const [old, young] = [log.sequencer(), log.sequencer({ resources: otherRules.resources })];
    await log.log.append(undefined, [note]);
    assert.deepEqual(await young.step(), { kind: 'rules-differ' });
    assert.equal(await publishRules(log.db, otherRules), true);
    assert.deepEqual(await old.step(), { kind: 'rules-differ' });
    assert.equal((await young.step()).kind, 'numbered');
    assert.equal(await publishRules(log.db, { resources }), true);
    assert.equal((await old.step()).kind, 'idle');
  });

  it('wait for a step under the old ones to end before they switch', async () => {
    const log = await logDatabase();
    const old = log.sequencer();
    const gate = await gateAt(log, 'insert', 'pulsefeed.entity_event');
    await log.log.append(undefined, [note]);
    // 1. A step holds the head. 2. New rules are published and wait for it. 3. The step ends.
    const step = old.step();
    await gate.reached();
    const published = publishRules(log.db, otherRules);
    await log.waiting(2);
    await gate.open();
    assert.equal((await step).kind, 'numbered');
    assert.equal(await published, true);
    assert.deepEqual(await old.step(), { kind: 'rules-differ' });
  });

  it('change once when twenty processes publish the same at the same time', async () => {
    const log = await logDatabase();
    assert.equal(await publishRules(log.db, { resources }), false);
    // 1. Somebody holds the head. 2. All the others read the old version and wait. 3. They go on one by one.
    const holder = await openSession(log.url);
    await holder.begin();
    await holder.run('select from pulsefeed.log_head for update');
    const publishing = Array.from({ length: 20 }, () => publishRules(log.db, otherRules));
    await log.waiting(20);
    await holder.commit();
    const changed = await Promise.all(publishing);
    assert.equal(changed.filter(Boolean).length, 1);
    assert.deepEqual(
      await log.db.query({
        text: 'select version, digest from pulsefeed.rule_set order by version',
        rowMode: 'array',
      }),
      [
        [1, digestOf({ resources })],
        [2, digestOf(otherRules)],
      ],
    );
  });

  it('stop a large transaction in the middle, and whoever has the new ones finishes it', async () => {
    const log = await logDatabase();
    const [old, young] = [
      log.sequencer({ batchSize: 7 }),
      log.sequencer({ batchSize: 7, resources: otherRules.resources }),
    ];
    await log.write('insert into showing select n, 0 from generate_series(1, 50) n');
    for (let n = 0; n < 10; n++) await old.step();
    await publishRules(log.db, otherRules);
    assert.deepEqual(await old.step(), { kind: 'rules-differ' });
    await drain(young);
    assert.deepEqual(
      await log.pulses(),
      Array.from({ length: 50 }, (_, n) => `Showing/${n + 1}`),
    );
  });
});
