import assert from 'node:assert/strict';
import { atTestEnd } from '../../testing/cleanup.ts';
import { type PushFixture, pushFixture, scriptedReceiver } from '../../testing/push-fixture.ts';
import { until } from '../../testing/until.ts';
import type { Db, Statement } from '../base/db/index.ts';
import { unobserved } from '../base/observe.ts';
import { changeConsumer } from '../visibility/index.ts';
import { openPush } from './index.ts';

/** A worker whose statements are counted: reads of blocks, and all others by their names. */
async function countingWorker(feed: PushFixture): Promise<Map<string, number>> {
  const counts = new Map<string, number>();
  const { db } = feed.runtime;
  const counting: Db = {
    ...db,
    query: <Row>(statement: Statement) => {
      const name = /^\nwith holder/.test(statement.text) ? 'block' : (statement.name ?? 'other');
      counts.set(name, (counts.get(name) ?? 0) + 1);
      return db.query<Row>(statement);
    },
  };
  const parts = { ...feed.runtime, db: counting, observe: unobserved };
  const push = openPush(parts, { ...feed.runtime.config.settings, pushSlots: 500, pushPerHost: 500 });
  const worker = push?.worker('counting', [], { pollMs: 60_000, beatMs: 60_000, aliveMs: 120_000 });
  await worker?.start();
  atTestEnd(async () => {
    await worker?.stop();
    push?.close();
  });
  return counts;
}

describe('subscriptions at the head', function () {
  this.timeout(30_000);

  it('share one reading of what is new, however many they are, and what a batch costs does not grow', async () => {
    const costs: Record<string, number>[] = [];
    for (const count of [4, 40]) {
      const feed = await pushFixture();
      const receiver = await scriptedReceiver();
      for (let n = 0; n < count; n += 1) await feed.subscribe({ CallbackUrl: receiver.url });
      await feed.events(1);
      const counts = await countingWorker(feed);
      await until('the first events', () => receiver.taken.length === count);
      await until('them to be settled', async () => (await waiting(feed)) === 0n);
      counts.clear();
      await feed.events(20);
      await until('the new events', () => receiver.taken.length === count * 21, { withinMs: 10_000 });
      await until('them to be settled', async () => (await waiting(feed)) === 0n);
      assert.equal(receiver.received.length, 2 * count);
      const writes = (counts.get('push_claim') ?? 0) + (counts.get('push_settle') ?? 0);
      costs.push({ blocks: counts.get('block') ?? 0, writesOfBatch: writes / count });
    }
    const [few, many] = costs;
    assert.deepEqual([few?.blocks, many?.blocks], [1, 1]);
    assert.ok((many?.writesOfBatch ?? 9) <= (few?.writesOfBatch ?? 0), JSON.stringify(costs));
    assert.ok((few?.writesOfBatch ?? 9) <= 2, JSON.stringify(costs));
  });

  it('are told each what its own consumer may see in the very statement that reads', async () => {
    const feed = await pushFixture();
    const receivers = [await scriptedReceiver(), await scriptedReceiver()];
    const tokens = [];
    for (const name of ['stays', 'leaves']) tokens.push((await feed.consumer(name, ['IDX'])).token);
    for (const [n, token] of tokens.entries()) {
      const made = await feed.ask(
        'POST',
        'EntityEventSubscription',
        { CallbackUrl: receivers[n]?.url },
        token,
      );
      assert.equal(made.status, 201);
    }
    await feed.events(1);
    // 1. Both are read for together. 2. One loses the feed: what the worker remembers of it is old.
    const counts = await countingWorker(feed);
    await until('both', () => receivers.every(({ taken }) => taken.length === 1));
    await until('them to be settled', async () => (await waiting(feed)) === 0n);
    await changeConsumer(feed.runtime.db, 'leaves', { grants: [] });
    counts.clear();
    // 3. What is numbered afterwards is not for it.
    const head = await feed.events(1);
    await until('the other', () => receivers[0]?.taken.length === 2);
    await until('it to be settled', async () => (await waiting(feed)) === 0n);
    assert.equal(counts.get('block'), 1, 'still one reading for both');
    assert.deepEqual(receivers[0]?.taken, [1n, head]);
    assert.deepEqual(receivers[1]?.taken, [1n]);
  });
});

/** Batches that are claimed and not settled. */
async function waiting({ runtime }: PushFixture): Promise<bigint> {
  const [row] = await runtime.db.query<{ n: bigint }>({
    text: 'select count(*) as n from pulsefeed.push_subscription where batch_hi is not null',
  });
  return row?.n ?? 0n;
}
