import assert from 'node:assert/strict';
import { runConformance } from '../../spec-tests/index.ts';
import { pushFixture } from '../../testing/push-fixture.ts';

describe('push as the conformance suite sees it', function () {
  this.timeout(60_000);

  it('breaks no rule of RCP-028 and leaves none to a warning', async () => {
    const feed = await pushFixture();
    const { token } = await feed.consumer('suite', ['IDX']);
    await feed.events(10);
    await feed.work();
    const report = await runConformance({
      url: feed.url,
      token,
      mode: 'push',
      only: ['rcp-028'],
      paceMs: 0,
      push: {
        retryAfterSeconds: 1,
        quietMs: 200,
        waitMs: 10_000,
        // The schedule is for a day's outage; the suite waits seconds.
        subscription: { RetrySchedule: [1] },
      },
    });
    const found = report.rules.map(({ id, outcome, reason }) => [id, outcome, reason] as const);
    assert.deepEqual(
      found.filter(([, outcome]) => outcome !== 'pass'),
      [],
    );
    assert.ok(found.length >= 15, `${found.length} rules`);
  });
});
