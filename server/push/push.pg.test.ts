import assert from 'node:assert/strict';
import { pushFixture, scriptedReceiver } from '../../testing/push-fixture.ts';

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
});
