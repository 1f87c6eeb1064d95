import assert from 'node:assert/strict';
import { classify, longestWaitMs, type PostResult, retryAfterMs } from './answers.ts';
import { backoffMs, decide, decideUnsettled, type Tried } from './decide.ts';
import { standardFields } from './subscription-body.ts';

const tried: Tried = {
  cursor: 10n,
  batchHi: 20n,
  events: 8,
  attempt: 1,
  rejections: 0,
  failures: 0,
  failingForS: 0,
  suspectHi: undefined,
  batchLimit: undefined,
  maxEvents: 8,
  retrySchedule: standardFields.retry_schedule,
  retryForS: standardFields.retry_for_s,
  rejectTries: 3,
  onRejected: 'dead-letter',
  refreshable: false,
  tokenRefreshed: false,
  intervalMs: 0,
};
const answer = (status: number, retryAfter?: string): PostResult => ({
  kind: 'answer',
  status,
  retryAfter,
  excerpt: '',
});
const now = Date.UTC(2030, 0, 1);
const settle = (change: Partial<Tried>, result: PostResult, random = 0.5) =>
  decide({ ...tried, ...change }, result, 10, now, random);

describe('the answer of an endpoint', () => {
  it('means what the table says', () => {
    const table: [number, string][] = [
      [200, 'delivered'],
      [204, 'delivered'],
      [299, 'delivered'],
      [301, 'retry'],
      [307, 'retry'],
      [400, 'rejected'],
      [404, 'rejected'],
      [401, 'denied'],
      [403, 'denied'],
      [408, 'retry'],
      [410, 'gone'],
      [413, 'rejected'],
      [425, 'retry'],
      [429, 'retry'],
      [500, 'retry'],
      [503, 'retry'],
      [599, 'retry'],
    ];
    assert.deepEqual(
      table.map(([status]) => [status, classify(answer(status), now).kind]),
      table,
    );
  });

  it('may ask for time in seconds or by a date, up to a day', () => {
    assert.deepEqual(classify(answer(429, '60'), now), { kind: 'wait', ms: 60_000 });
    assert.deepEqual(classify(answer(503, 'Tue, 01 Jan 2030 00:00:05 GMT'), now), {
      kind: 'wait',
      ms: 5_000,
    });
    assert.equal(retryAfterMs('Fri, 01 Jan 2038 00:00:00 GMT', now), longestWaitMs);
    assert.equal(retryAfterMs('Sat, 01 Jan 2000 00:00:00 GMT', now), 0);
    for (const odd of ['', 'soon', '-5', '1.5', '2030-01-01'])
      assert.equal(retryAfterMs(odd, now), undefined, odd);
    assert.equal(settle({ failures: 2 }, answer(429, '60')).failures, 2, 'waiting is no failure');
  });

  it('moves the cursor on 2xx and with a dead letter, else never', () => {
    const results: PostResult[] = [
      ...[301, 400, 401, 403, 408, 410, 425, 429, 500, 503].map(status => answer(status)),
      answer(429, '5'),
      ...(['timeout', 'connection', 'tls', 'refused-target', 'token', 'token-denied'] as const).map(
        (reason): PostResult => ({ kind: 'failure', reason, detail: '' }),
      ),
    ];
    for (const result of results) {
      const { cursor, deadLetter } = settle({}, result);
      assert.deepEqual({ cursor, deadLetter }, { cursor: 10n, deadLetter: false }, JSON.stringify(result));
    }
    assert.equal(settle({}, answer(200)).cursor, 20n);
    assert.equal(
      settle({ intervalMs: 500 }, answer(200)).dueInMs,
      500,
      'no sooner than the cap on the rate allows',
    );
    const last = settle({ events: 1, rejections: 2 }, answer(422));
    assert.deepEqual([last.cursor, last.deadLetter], [20n, true]);
  });

  it('is retried for 72 hours at least, whatever the jitter, and then paused', () => {
    for (const random of [0, 0.5, 0.999]) {
      let failures = 0;
      let ms = 0;
      for (let round = 0; round < 2_000_000; round += 1) {
        const next = settle({ failures, failingForS: ms / 1_000 }, answer(500), random);
        if (next.state === 'paused') break;
        assert.equal(next.thaw, false);
        failures = next.failures;
        // With no delay at all time still passes: the least that a try takes.
        ms += Math.max(next.dueInMs, 1_000);
      }
      assert.ok(ms >= 72 * 3_600_000, `${random}: ${ms / 3_600_000} h`);
    }
  });

  it('spreads retries over the whole of each delay', () => {
    assert.equal(backoffMs(tried, 1, 0.999), 4_995);
    assert.equal(backoffMs(tried, 1, 0), 100);
    assert.equal(backoffMs(tried, 50, 0.5), 4 * 3_600_000);
  });

  it('that refuses the token has it refreshed once, then pauses', () => {
    const first = settle({ refreshable: true }, answer(401));
    assert.deepEqual([first.state, first.tokenRefreshed, first.dueInMs], ['active', true, 0]);
    const second = settle({ refreshable: true, tokenRefreshed: true }, answer(401));
    assert.equal(second.state, 'paused');
    assert.equal(settle({}, answer(403)).state, 'paused', 'a fixed token cannot be refreshed');
  });

  it('that refuses a batch halves it until the event is alone', () => {
    assert.equal(settle({ rejections: 1 }, answer(422)).thaw, false, 'before its tries are used up');
    const halved = settle({ rejections: 2 }, answer(422));
    assert.deepEqual([halved.thaw, halved.batchLimit, halved.suspectHi], [true, 4, 20n]);
    const again = settle({ events: 4, suspectHi: 20n, batchLimit: 4 }, answer(422));
    assert.deepEqual(
      [again.batchLimit, again.suspectHi],
      [2, 20n],
      'at once, now that one of them is known to be bad',
    );
    const half = settle({ events: 2, batchHi: 12n, suspectHi: 20n, batchLimit: 2 }, answer(200));
    assert.deepEqual(
      [half.cursor, half.batchLimit, half.suspectHi],
      [12n, 4, 20n],
      'grows while the bad one lies ahead',
    );
    const paused = settle({ events: 1, rejections: 2, onRejected: 'pause' }, answer(422));
    assert.deepEqual([paused.state, paused.cursor, paused.deadLetter], ['paused', 10n, false]);
  });

  it('that never comes because the batch kills its workers counts as a refusal', () => {
    assert.deepEqual([decideUnsettled(tried).batchLimit, decideUnsettled(tried).cursor], [4, 10n]);
    const alone = decideUnsettled({ ...tried, events: 1 });
    assert.deepEqual([alone.deadLetter, alone.cursor], [true, 20n]);
  });
});
