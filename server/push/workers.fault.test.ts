import assert from 'node:assert/strict';
import { compiled } from '../../testing/compiled.ts';
import {
  type PushFixture,
  pushFixture,
  pushSettings,
  type Received,
  type ScriptedReceiver,
  scriptedReceiver,
} from '../../testing/push-fixture.ts';
import { type PushProcess, startPushProcess } from '../../testing/push-process.ts';
import { seededRandom } from '../../testing/seeded-random.ts';
import { until } from '../../testing/until.ts';
import { standardPace } from './worker.ts';

const kills = Number(process.env.PULSEFEED_TORTURE_PUSH_KILLS ?? 3);
const long = kills > 3;
const subscriptions = long ? 200 : 30;

/** Dead after a second: the standard pace would make each round last ten. */
const quick = { aliveMs: 1_000, beatMs: 200, patienceMs: 200, pollMs: 100 };

describe('workers that are killed or stopped', function () {
  this.timeout(60_000 + kills * 10_000);
  let program = '';

  before(async () => {
    program = await compiled(new URL('../../testing/push-process.ts', import.meta.url));
  });

  function start(
    feed: PushFixture,
    name: string,
    more: { pace?: Record<string, number>; settings?: object } = {},
  ) {
    const { databaseUrl = '' } = feed.runtime.config.settings;
    return startPushProcess({
      program,
      name,
      url: databaseUrl,
      secretKey: pushSettings.secretKey ?? '',
      settings: { pushTimeoutMs: 2_000, ...more.settings },
      pace: more.pace ?? quick,
    });
  }

  /** Subscriptions told apart by the label that their consumer chose. */
  async function subscribeMany(feed: PushFixture, receiver: ScriptedReceiver, count: number): Promise<void> {
    for (let n = 0; n < count; n += 1) {
      await feed.subscribe({
        CallbackUrl: receiver.url,
        EntityEventSequence: 0,
        EntityEventSource: `s${n}`,
        MaxEvents: (long ? 40 : 1) + (n % 50),
        RetrySchedule: [1],
      });
    }
  }

  /** @returns events that came more than once, of all that came. @throws when one is missing, out of order, or came twice outside its frozen batch. */
  function examine(
    received: readonly Received[],
    labels: number,
    head: bigint,
  ): { again: number; all: number } {
    const byLabel = new Map<string, Received[]>();
    for (const one of received) {
      const label = String(one.headers.entityeventsource);
      byLabel.set(label, [...(byLabel.get(label) ?? []), one]);
    }
    assert.equal(byLabel.size, labels);
    let again = 0;
    let all = 0;
    for (const [label, posts] of byLabel) {
      const batches = new Map<string, readonly bigint[]>();
      for (const { headers, sequences } of posts) {
        const id = String(headers['webhook-id']);
        const known = batches.get(id);
        all += sequences.length;
        if (known === undefined) batches.set(id, sequences);
        else {
          assert.deepEqual(sequences, known, `${label}: ${id} changed`);
          again += sequences.length;
        }
      }
      const told = [...batches.values()].flat();
      assert.equal(told.length, Number(head), `${label}: complete, and each event in one batch`);
      assert.ok(
        told.every((sequence, index) => sequence === BigInt(index + 1)),
        `${label}: in order`,
      );
    }
    return { again, all };
  }

  it(`end complete and in order with ${subscriptions} subscriptions, live writes and ${kills} kills`, async () => {
    const feed = await pushFixture({ pushSubscriptionsPerConsumer: 1_000 });
    const receiver = await scriptedReceiver();
    const random = seededRandom(11);
    // Some answers are lost: the endpoint took the batch, and nobody was told.
    receiver.always(response => {
      if (random.below(100) === 0) response.destroy();
      else response.writeHead(200).end();
    });
    await subscribeMany(feed, receiver, subscriptions);
    const workers: PushProcess[] = [];
    for (let n = 0; n < 3; n += 1) workers.push(start(feed, `w${n}`));
    await Promise.all(workers.map(({ ready }) => ready));
    let writing = true;
    const writer = (async () => {
      while (writing) await feed.events(1 + random.below(20));
    })();
    try {
      for (let n = 0; n < kills; n += 1) {
        const before = receiver.received.length;
        await until('deliveries to go on', () => receiver.received.length > before + subscriptions / 2, {
          withinMs: 20_000,
        });
        const [victim] = workers.splice(random.below(workers.length), 1);
        await victim?.kill();
        const next = start(feed, `w${n + 3}`);
        workers.push(next);
        if (long) await next.ready;
      }
    } finally {
      writing = false;
      await writer;
    }
    const { head } = await feed.runtime.log.head();
    await until(
      'all to catch up',
      async () => {
        const [row] = await feed.runtime.db.query<{ behind: bigint }>({
          text: 'select count(*) as behind from pulsefeed.push_subscription where cursor_seq < $1 or batch_hi is not null',
          values: [head],
        });
        return row?.behind === 0n;
      },
      { withinMs: long ? 180_000 : 30_000, everyMs: 50 },
    );
    const { again, all } = examine(receiver.received, subscriptions, head);
    if (long) process.stdout.write(`      ${again} of ${all} events came again\n`);
    assert.ok(again < all / 4);
  });

  it('go on within ten seconds at the standard pace, and sooner at a quicker one', async () => {
    const { aliveMs, beatMs, patienceMs, pollMs } = standardPace;
    assert.ok(aliveMs + beatMs + patienceMs + pollMs < 9_000);
    const pace = long ? {} : quick;
    const withinMs = long ? 10_000 : 2_500;
    const feed = await pushFixture();
    const receiver = await scriptedReceiver();
    const id = await feed.subscribe({ CallbackUrl: receiver.url });
    receiver.next(() => undefined);
    const settings = { pushTimeoutMs: 60_000 };
    const first = start(feed, 'first', { pace, settings });
    await first.ready;
    await feed.events(1);
    // 1. The first worker holds the lease, its POST without an answer.
    await until('the POST', () => receiver.received.length === 1);
    const second = start(feed, 'second', { pace, settings });
    await second.ready;
    // 2. It dies.
    const diedAt = performance.now();
    await first.kill();
    // 3. The second one takes over, with the same batch.
    await until('the second POST', () => receiver.received.length === 2, { withinMs: 10_000 });
    await feed.caughtUp(id);
    assert.ok(performance.now() - diedAt < withinMs, `${performance.now() - diedAt} ms`);
    assert.equal(new Set(receiver.received.map(({ headers }) => headers['webhook-id'])).size, 1);
  });

  it('are refused when they were stopped past their lease and come back late', async () => {
    const feed = await pushFixture();
    const receiver = await scriptedReceiver();
    const id = await feed.subscribe({ CallbackUrl: receiver.url, EntityEventSequence: 0 });
    let answerFirst: () => void = () => undefined;
    receiver.next(response => {
      answerFirst = () => void response.writeHead(200).end();
    });
    const late = start(feed, 'late');
    await late.ready;
    const head = await feed.events(2);
    // 1. The POST of the late worker is under way; it is stopped.
    await until('the POST', () => receiver.received.length === 1);
    late.child.kill('SIGSTOP');
    // 2. Another one takes the batch over and is refused: the cursor stays where it is.
    receiver.next(response => void response.writeHead(500).end());
    const other = start(feed, 'other');
    await other.ready;
    await until('the other POST', async () => (await feed.outcomes(id)).includes('failed'), {
      withinMs: 10_000,
    });
    await other.kill();
    await feed.runtime.db.query({
      text: `update pulsefeed.push_subscription set due_at = now() + interval '1 day'`,
    });
    // 3. The late one wakes to its 200, and says so.
    answerFirst();
    late.child.kill('SIGCONT');
    await until('its word', async () => (await feed.outcomes(id)).includes('fenced'), { withinMs: 10_000 });
    const row = await feed.row(id);
    assert.deepEqual([row.cursor_seq, row.batch_hi], [0n, head]);
  });

  it('are refused past their lease also when nobody took over', async () => {
    const feed = await pushFixture();
    const receiver = await scriptedReceiver();
    const id = await feed.subscribe({ CallbackUrl: receiver.url, EntityEventSequence: 0 });
    let answer: () => void = () => undefined;
    receiver.next(response => {
      answer = () => void response.writeHead(200).end();
    });
    await feed.work();
    await feed.events(1);
    await until('the POST', () => receiver.received.length === 1);
    await feed.runtime.db.query({
      text: `update pulsefeed.push_subscription set lease_until = now(), due_at = now() + interval '1 day'`,
    });
    answer();
    await until('its word', async () => (await feed.outcomes(id)).includes('fenced'));
    assert.equal((await feed.row(id)).cursor_seq, 0n);
  });
});
