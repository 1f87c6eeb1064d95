import assert from 'node:assert/strict';
import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';
import { atTestEnd } from '../../testing/cleanup.ts';
import {
  type PushFixture,
  pushFixture,
  type ScriptedReceiver,
  scriptedReceiver,
  status,
} from '../../testing/push-fixture.ts';
import { until } from '../../testing/until.ts';

/** Makes every retry due at once, until the subscription has caught up: the schedule itself is tested without a clock. */
async function hurry(feed: PushFixture, id: string): Promise<void> {
  const { head } = await feed.runtime.log.head();
  await until(
    'the subscription to catch up',
    async () => {
      await feed.dueNow(id);
      const { cursor_seq: cursor, batch_hi: frozen } = await feed.row(id);
      return (cursor as bigint) >= head && frozen === null;
    },
    { withinMs: 15_000, everyMs: 10 },
  );
}

const numbers = (from: number, to: number) =>
  Array.from({ length: to - from + 1 }, (_, index) => BigInt(from + index));
const idsOf = (receiver: ScriptedReceiver) => receiver.received.map(({ headers }) => headers['webhook-id']);

describe('an endpoint that fails', function () {
  this.timeout(30_000);

  it('gets the same frozen batch under the same id again, whatever it answers but 2xx', async () => {
    const feed = await pushFixture({ pushTimeoutMs: 300 });
    const receiver = await scriptedReceiver();
    receiver.next(
      status(500),
      status(503),
      status(503, { 'Retry-After': '1' }),
      status(429, { 'Retry-After': new Date(Date.now() + 2_000).toUTCString() }),
      status(429),
      status(408),
      status(425),
      status(302, { Location: receiver.url }),
      status(307, { Location: receiver.url }),
      response => response.destroy(),
      () => undefined,
      response => void response.socket?.end('HTTP/1.1 2x0 what\r\n\r\n'),
      status(400),
      status(400),
    );
    await feed.events(3);
    const id = await feed.subscribe({ CallbackUrl: receiver.url, EntityEventSequence: 0 });
    await feed.work();
    await until('the first try', async () => (await feed.outcomes(id)).length > 0);
    await feed.events(2);
    await hurry(feed, id);
    const [first, ...others] = receiver.received;
    const again = others.slice(0, 14);
    assert.equal(again.length, 14);
    for (const one of again) {
      assert.equal(one.headers['webhook-id'], first?.headers['webhook-id']);
      assert.deepEqual(one.sequences, numbers(1, 3));
    }
    assert.deepEqual(
      receiver.taken,
      numbers(1, 5),
      'nothing lost, nothing out of order, nothing taken twice',
    );
    assert.deepEqual((await feed.outcomes(id)).slice(0, 5), [
      'failed',
      'failed',
      'waiting',
      'waiting',
      'failed',
    ]);
    const row = await feed.row(id);
    assert.deepEqual([row.failures, row.state, row.reason, row.failing_since], [0, 'active', null, null]);
  });

  it('asks for time and gets it, by the clock of the database', async () => {
    const feed = await pushFixture();
    const receiver = await scriptedReceiver();
    receiver.next(status(429, { 'Retry-After': '3600' }));
    await feed.events(1);
    const id = await feed.subscribe({ CallbackUrl: receiver.url, EntityEventSequence: 0 });
    await feed.work();
    await until('the first try', async () => (await feed.outcomes(id)).length === 1);
    const [wait] = await feed.runtime.db.query<{ seconds: number }>({
      text: `select extract(epoch from due_at - now())::float8 as seconds from pulsefeed.push_subscription`,
    });
    assert.ok((wait?.seconds ?? 0) > 3_590 && (wait?.seconds ?? 0) <= 3_600, `${wait?.seconds}`);
    await feed.events(1);
    assert.equal(receiver.received.length, 1, 'new events do not wake it');
    await feed.dueNow(id);
    await feed.caughtUp(id);
    assert.deepEqual(receiver.taken, numbers(1, 2));
  });

  it('is refused by the network and tried again until it is there', async () => {
    const feed = await pushFixture();
    const gone = await scriptedReceiver();
    const port = Number(new URL(gone.url).port);
    await gone.close();
    await feed.events(2);
    const id = await feed.subscribe({ CallbackUrl: gone.url, EntityEventSequence: 0 });
    await feed.work();
    for (let failures = 1; failures <= 5; failures += 1) {
      await until('a failure', async () => (await feed.row(id)).failures === failures);
      await feed.dueNow(id);
    }
    const read = await feed.ask('GET', `EntityEventSubscription('${id}')`);
    assert.equal(read.json.Breaker === 'open' || read.json.Breaker === 'half-open', true);
    assert.match(String(read.json.StatusReason), /connection failed/);
    const back = await scriptedReceiver(port);
    await hurry(feed, id);
    assert.deepEqual(back.taken, numbers(1, 2));
    assert.equal((await feed.ask('GET', `EntityEventSubscription('${id}')`)).json.Breaker, 'closed');
  });

  it('accepts and never answers, or answers a byte a second, and holds up nobody else', async () => {
    const feed = await pushFixture({ pushTimeoutMs: 1_500, pushSlots: 4 });
    const mute = createServer(socket => socket.on('error', () => undefined));
    const sockets = new Set<{ destroy(): void }>();
    mute.on('connection', socket => sockets.add(socket));
    await new Promise<void>(resolve => mute.listen(0, '127.0.0.1', resolve));
    atTestEnd(() => {
      for (const socket of sockets) socket.destroy();
      mute.close();
    });
    const slow = await scriptedReceiver();
    slow.always(response => {
      const timer = setInterval(() => response.socket?.write('H'), 100);
      response.socket?.once('close', () => clearInterval(timer));
    });
    const fine = await scriptedReceiver();
    const muteUrl = `http://127.0.0.1:${(mute.address() as AddressInfo).port}/`;
    const bad = [];
    for (const CallbackUrl of [muteUrl, muteUrl, slow.url]) bad.push(await feed.subscribe({ CallbackUrl }));
    const good = await feed.subscribe({ CallbackUrl: fine.url });
    await feed.work();
    for (let round = 0; round < 3; round += 1) {
      await feed.events(2);
      await feed.caughtUp(good);
      for (const id of bad) await feed.dueNow(id);
    }
    assert.deepEqual(fine.taken, numbers(1, 6));
    for (const id of bad) {
      await until('its failure', async () => ((await feed.row(id)).failures as number) > 0);
      assert.equal((await feed.row(id)).cursor_seq, 0n);
    }
  });

  it('answers 410 and is disabled; 401 and 403 and is paused; all keep their cursor and go on after Resume', async () => {
    const feed = await pushFixture();
    await feed.work();
    for (const [code, state] of [
      [410, 'disabled'],
      [401, 'paused'],
      [403, 'paused'],
    ] as const) {
      const receiver = await scriptedReceiver();
      receiver.next(status(code));
      const id = await feed.subscribe({ CallbackUrl: receiver.url });
      const before = (await feed.row(id)).cursor_seq;
      const head = await feed.events(2);
      await until(state, async () => (await feed.row(id)).state === state);
      assert.equal((await feed.row(id)).cursor_seq, before);
      await feed.events(1);
      assert.equal(receiver.received.length, 1);
      const resumed = await feed.ask('POST', `EntityEventSubscription('${id}')/Resume`);
      assert.deepEqual(
        [resumed.status, resumed.json.Status, resumed.json.StatusReason],
        [200, 'active', null],
      );
      await feed.caughtUp(id);
      assert.deepEqual(receiver.taken, [head - 1n, head, head + 1n]);
      assert.equal(new Set(idsOf(receiver)).size, 2, 'the frozen batch kept its id');
    }
  });

  it('refuses one event of many: it alone goes to the dead letters, and comes again when it is re-driven', async () => {
    const feed = await pushFixture();
    const receiver = await scriptedReceiver();
    receiver.always((response, { sequences }) => {
      const bad = sequences.includes(37n);
      response.writeHead(bad ? 422 : 200).end(bad ? 'no \u0000\u001b[31m such listing' : '');
    });
    await feed.events(100);
    const id = await feed.subscribe({ CallbackUrl: receiver.url, EntityEventSequence: 0 });
    await feed.work();
    await hurry(feed, id);
    assert.deepEqual(receiver.taken, [...numbers(1, 36), ...numbers(38, 100)]);
    const letters = () =>
      feed.runtime.db.query<Record<string, unknown>>({
        text: 'select seq, resource, key, status, excerpt, state from pulsefeed.push_dead_letter',
      });
    assert.deepEqual(await letters(), [
      {
        seq: 37n,
        resource: 'Property',
        key: 'L37',
        status: 422,
        excerpt: 'no   [31m such listing',
        state: 'dead',
      },
    ]);
    const shown = await feed.ask('GET', `EntityEventSubscription('${id}')`);
    assert.equal(shown.json.DeadLetters, 1);
    assert.ok(
      !JSON.stringify(shown.json).includes('such listing'),
      'what the endpoint said is not shown to consumers',
    );
    const redriven = await feed.ask('POST', `EntityEventSubscription('${id}')/Redrive`, {});
    assert.equal(redriven.status, 200, JSON.stringify(redriven.json));
    await until(
      'the refusal',
      async () => (await letters())[0]?.state === 'dead' && (await feed.row(id)).redrive === false,
    );
    assert.equal(receiver.taken.length, 99);
    receiver.always(status(200));
    await feed.ask('POST', `EntityEventSubscription('${id}')/Redrive`, { EntityEventSequence: 37 });
    await until('the letter to be sent', async () => (await letters())[0]?.state === 'sent');
    assert.deepEqual(receiver.taken.slice(99), [37n]);
    assert.equal((await feed.row(id)).cursor_seq, 100n);
  });

  it('refuses one event and has asked to be paused: nothing is put aside', async () => {
    const feed = await pushFixture();
    const receiver = await scriptedReceiver();
    receiver.always(
      (response, { sequences }) => void response.writeHead(sequences.includes(3n) ? 400 : 200).end(),
    );
    await feed.events(5);
    const id = await feed.subscribe({
      CallbackUrl: receiver.url,
      EntityEventSequence: 0,
      OnRejected: 'pause',
      RejectTries: 1,
    });
    await feed.work();
    await until('the pause', async () => {
      await feed.dueNow(id);
      return (await feed.row(id)).state === 'paused';
    });
    assert.deepEqual(receiver.taken, numbers(1, 2));
    assert.equal((await feed.row(id)).cursor_seq, 2n);
  });
});

describe('a batch that its workers die over', function () {
  this.timeout(30_000);

  it('is halved without another try, and what is alone is put aside', async () => {
    const feed = await pushFixture();
    const receiver = await scriptedReceiver();
    await feed.events(2);
    const id = await feed.subscribe({ CallbackUrl: receiver.url, EntityEventSequence: 0 });
    // As five workers leave it that were killed with the batch in hand.
    const died = (hi: bigint, count: number) =>
      feed.runtime.db.query({
        text: `
update pulsefeed.push_subscription set batch_hi = $2, batch_count = $3, attempt = 5, unsettled = 5, lease_until = now()
where id = $1`,
        values: [id, hi, count],
      });
    await died(2n, 2);
    receiver.always(() => undefined);
    const worker = await feed.work();
    await until(
      'the half',
      async () => (await feed.row(id)).batch_limit === 1 && receiver.received.length === 1,
    );
    assert.deepEqual(receiver.received[0]?.sequences, [1n]);
    await worker.stop(0);
    await died(1n, 1);
    receiver.always(status(200));
    await feed.work();
    await feed.caughtUp(id);
    assert.deepEqual(receiver.taken, [2n]);
    const letters = await feed.runtime.db.query({
      text: 'select seq, status from pulsefeed.push_dead_letter',
    });
    assert.deepEqual(letters, [{ seq: 1n, status: null }]);
  });
});
