import assert from 'node:assert/strict';
import { pushFixture, scriptedReceiver } from '../../testing/push-fixture.ts';
import { createReporter } from '../base/report.ts';
import { samplePush } from './sample.ts';

describe('push', function () {
  this.timeout(30_000);

  it('delivers what is numbered, in order, and nothing twice', async () => {
    const feed = await pushFixture();
    const receiver = await scriptedReceiver();
    await feed.events(3);
    const id = await feed.subscribe({ CallbackUrl: receiver.url, EntityEventSequence: 0, MaxEvents: 2 });
    await feed.work();
    await feed.caughtUp(id);
    assert.deepEqual(receiver.taken, [1n, 2n, 3n]);
    await feed.events(2);
    await feed.caughtUp(id);
    assert.deepEqual(receiver.taken, [1n, 2n, 3n, 4n, 5n]);
  });

  it('tells how far behind it is, in numbers and in seconds', async () => {
    const feed = await pushFixture();
    await feed.events(3);
    const id = await feed.subscribe({ CallbackUrl: 'https://example.com/', EntityEventSequence: 1 });
    await feed.subscribe({ CallbackUrl: 'https://example.com/' });
    await feed.runtime.db.query({
      text: `update pulsefeed.push_subscription set failures = 5 where id = $1`,
      values: [id],
    });
    const { lagSeconds, ...sample } = await samplePush(feed.runtime.db);
    assert.deepEqual(sample, {
      byState: { active: 2 },
      byBreaker: { open: 1, closed: 1 },
      lagEvents: { most: 2, sum: 2 },
      deadLetters: 0,
    });
    assert.ok(lagSeconds > 0 && lagSeconds < 60, `${lagSeconds}`);
    const { observe, registry } = createReporter('silent');
    observe({ kind: 'PushSampled', lagSeconds, ...sample });
    const metrics = await registry.metrics();
    for (const line of [
      'pulsefeed_push_lag_events{of="furthest"} 2',
      'pulsefeed_push_breakers{breaker="open"} 1',
      'pulsefeed_push_subscriptions{state="active"} 2',
      'pulsefeed_push_dead_letters 0',
    ]) {
      assert.ok(metrics.includes(line), line);
    }
  });
});
