import assert from 'node:assert/strict';
import { pushFixture, scriptedReceiver, status } from '../../testing/push-fixture.ts';
import { serveFeeds } from '../../testing/served-feeds.ts';
import { until } from '../../testing/until.ts';

const url = 'https://example.com/hook';

describe('EntityEventSubscription', function () {
  this.timeout(30_000);

  it('is made by POST with Location and EntityId, read, changed and deleted by its owner alone', async () => {
    const feed = await pushFixture();
    const made = await feed.ask('POST', 'EntityEventSubscription', {
      EntityEventFilter: `ResourceName eq 'Property'`,
      CallbackUrl: url,
      EntityEventSource: 'us',
      MaxEvents: 10,
    });
    const id = String(made.json.EntityEventSubscriptionKey);
    assert.equal(made.status, 201);
    assert.equal(made.headers.get('location'), `${feed.url}/EntityEventSubscription('${id}')`);
    assert.equal(made.headers.get('odata-entityid'), made.headers.get('location'));
    assert.equal(decodeURIComponent(made.headers.get('entityid') ?? ''), id);
    assert.match(String(made.json.SigningSecret), /^whsec_/);
    assert.match(String(made.json.SigningPublicKey), /^whpk_/);
    const path = `EntityEventSubscription('${id}')`;
    const read = await feed.ask('GET', path);
    const { SigningSecret, SigningPublicKey, ...rest } = made.json;
    const { json: shown } = read;
    const expected: unknown = { ...rest, SigningSecret: null, SigningPublicKey: null };
    assert.deepEqual(shown, expected);
    assert.deepEqual(
      [shown.Status, shown.Breaker, shown.EntityEventSequence, shown.RetryForSeconds],
      ['active', 'closed', 0, 72 * 3_600],
    );
    const list = await feed.ask(
      'GET',
      `EntityEventSubscription?$filter=MaxEvents eq 10&$count=true&$orderby=CreatedTimestamp desc`,
    );
    assert.equal(list.json['@odata.count'] ?? list.json['@count'], 1);
    const changed = await feed.ask('PATCH', path, { MaxEvents: 20, EntityEventFilter: null });
    assert.equal(changed.status, 204);
    const after = await feed.ask('GET', `${path}?$select=MaxEvents,EntityEventFilter,EntityEventSource`);
    assert.deepEqual(
      [after.json.MaxEvents, after.json.EntityEventFilter, after.json.EntityEventSource],
      [20, null, 'us'],
    );
    const { token } = await feed.consumer('other', ['IDX']);
    for (const [method, at, body] of [
      ['GET', path],
      ['PATCH', path, { MaxEvents: 1 }],
      ['DELETE', path],
      ...['Resume', 'Pause', 'RotateSecret', 'SendTest', 'Redrive'].map(name => ['POST', `${path}/${name}`]),
      ['POST', `${path}/Seek`, { EntityEventSequence: 0 }],
    ] as [string, string, unknown?][]) {
      const hidden = await feed.ask(method, at, body, token);
      const absent = await feed.ask(method, at.replace(id, 'sub_none'), body, token);
      assert.equal(hidden.status, 404, `${method} ${at}`);
      assert.deepEqual(hidden.json, absent.json);
    }
    assert.deepEqual((await feed.ask('GET', 'EntityEventSubscription', undefined, token)).json.value, []);
    assert.equal((await feed.ask('DELETE', path)).status, 204);
    assert.equal((await feed.ask('GET', path)).status, 404);
  });

  it('is refused with each fault named, before anything is written', async () => {
    const feed = await pushFixture();
    const target = (json: Record<string, unknown>) => (json.error as { target?: string; code: string }).code;
    const cases: [unknown, string][] = [
      [{}, 'EE-114'],
      [{ CallbackUrl: 'no url' }, 'EE-114'],
      [{ CallbackUrl: 'https://10.0.0.1/' }, 'EE-502'],
      [{ CallbackUrl: 'http://8.8.8.8/' }, 'EE-502'],
      [{ CallbackUrl: url, EntityEventFilter: 'EntityEventSequence gt 5' }, 'EE-101'],
      [{ CallbackUrl: url, EntityEventFilter: 'ResourceName eq' }, 'EE-101'],
      [{ CallbackUrl: url, EntityEventSequence: 1 }, 'EE-114'],
      [{ CallbackUrl: url, EntityEventSequence: -1 }, 'EE-114'],
      [{ CallbackUrl: url, EntityEventSequence: '9223372036854775808' }, 'EE-114'],
      [{ CallbackUrl: url, EntityEventSource: 'a\r\nX: 1' }, 'EE-114'],
      [{ CallbackUrl: url, MaxEvents: 0 }, 'EE-114'],
      [{ CallbackUrl: url, Colour: 'red' }, 'EE-114'],
      [{ CallbackUrl: url, RetrySchedule: [] }, 'EE-114'],
      ['[]', 'EE-114'],
    ];
    for (const [body, code] of cases) {
      const { status: answered, json } = await feed.ask('POST', 'EntityEventSubscription', body);
      assert.deepEqual([answered, target(json)], [400, code], JSON.stringify(body));
    }
    assert.equal((await feed.ask('GET', 'EntityEventSubscription/$count')).json as unknown, 0);
    const few = await pushFixture({ pushSubscriptionsPerConsumer: 1 });
    await few.subscribe({ CallbackUrl: url });
    assert.equal((await few.ask('POST', 'EntityEventSubscription', { CallbackUrl: url })).status, 409);
  });

  it('is for those who say who they are, also where everybody may read', async () => {
    const feed = await pushFixture({}, ['IDX']);
    const bare = (method: string, path: string, body?: unknown) =>
      fetch(`${feed.url}/${path}`, {
        method,
        ...(body === undefined
          ? {}
          : { headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) }),
      });
    assert.equal((await bare('GET', 'EntityEvent')).status, 200);
    const id = await feed.subscribe({ CallbackUrl: url });
    for (const [method, path, body] of [
      ['POST', 'EntityEventSubscription', { CallbackUrl: url }],
      ['POST', 'EntityEventCredential', { Type: 'bearer', Token: 'x' }],
      ['GET', 'EntityEventSubscription'],
      ['GET', `EntityEventSubscription('${id}')`],
      ['DELETE', `EntityEventSubscription('${id}')`],
      ['POST', `EntityEventSubscription('${id}')/RotateSecret`],
    ] as [string, string, unknown?][]) {
      assert.equal((await bare(method, path, body)).status, 401, `${method} ${path}`);
    }
  });

  it('stands in $metadata with its actions when push is on, and nowhere when it is off', async () => {
    const feed = await pushFixture();
    const xml = await (await fetch(`${feed.url}/$metadata`)).text();
    assert.match(xml, /<EntitySet Name="EntityEventSubscription"/);
    assert.match(
      xml,
      /<Action Name="Resume" IsBound="true"><Parameter Name="bound" Type="org.reso.metadata.EntityEventSubscription"/,
    );
    const { json } = await feed.ask('GET', '$metadata?$format=application/json');
    const schema = json['org.reso.metadata'] as Record<string, { $Kind?: string }[]>;
    assert.equal(schema.Seek?.[0]?.$Kind, 'Action');
    const off = await serveFeeds();
    assert.equal((await fetch(`${off.urls[0]}/EntityEventSubscription`)).status, 404);
    assert.doesNotMatch(await (await fetch(`${off.urls[0]}/$metadata`)).text(), /EntityEventSubscription/);
  });

  it('keeps numbers beyond 2^53 exact, in its body, in filters and in what it sends', async () => {
    const feed = await pushFixture();
    const receiver = await scriptedReceiver();
    await feed.events(1);
    const big = 9_007_199_254_740_993n;
    await feed.write(`
update pulsefeed.entity_event set seq = ${big + 2n};
update pulsefeed.log_head set last_seq = ${big + 2n}`);
    const body = `{"CallbackUrl":"${receiver.url}","EntityEventSequence":${big}}`;
    const made = await fetch(`${feed.url}/EntityEventSubscription`, {
      method: 'POST',
      headers: {
        Authorization: `Bearer ${(await feed.consumer('exact', ['IDX'])).token}`,
        'Content-Type': 'application/json',
      },
      body,
    });
    assert.match(await made.text(), /"EntityEventSequence":9007199254740993,/);
    await feed.work();
    await until('the event', () => receiver.taken.length === 1);
    assert.deepEqual(receiver.taken, [big + 2n]);
  });

  it('sends the common format: value[] in general, one event at the top with MaxEvents 1', async () => {
    const feed = await pushFixture();
    const [many, one] = [await scriptedReceiver(), await scriptedReceiver()];
    await feed.events(2);
    const first = await feed.subscribe({ CallbackUrl: many.url, EntityEventSequence: 0, MaxBytes: 1_024 });
    const second = await feed.subscribe({ CallbackUrl: one.url, EntityEventSequence: 0, MaxEvents: 1 });
    await feed.work();
    await feed.caughtUp(first);
    await feed.caughtUp(second);
    const event = (n: number) => ({
      EntityEventSequence: n,
      ResourceName: 'Property',
      ResourceRecordKey: `L${n}`,
    });
    const context = { '@reso.context': 'urn:reso:metadata:2.0:resource:entityevent' };
    assert.deepEqual(
      many.received.map(({ body }) => JSON.parse(body)),
      [{ ...context, value: [event(1), event(2)] }],
    );
    assert.deepEqual(
      one.received.map(({ body }) => JSON.parse(body)),
      [
        { ...context, ...event(1) },
        { ...context, ...event(2) },
      ],
    );
    assert.equal(one.received[0]?.headers['content-type'], 'application/json');
    await feed.events(40);
    await feed.caughtUp(first);
    const sizes = many.received.slice(1).map(({ body }) => Buffer.byteLength(body));
    assert.ok(sizes.length > 2 && sizes.every(size => size <= 1_024), `${sizes}`);
  });

  it('sends what its filter and its feeds let through, and goes on over the rest', async () => {
    const feed = await pushFixture();
    const receiver = await scriptedReceiver();
    const id = await feed.subscribe({
      CallbackUrl: receiver.url,
      EntityEventFilter: `ResourceName eq 'Media'`,
    });
    await feed.work();
    await feed.write(`
insert into property values ('A', null, 1, 1), ('B', null, 0, 1);
insert into media values ('MA', 'A', 1, 1), ('MB', 'B', 1, 1)`);
    await feed.number();
    await until('the photo', () => receiver.received.length === 1);
    assert.deepEqual((JSON.parse(receiver.received[0]?.body ?? '') as { value: unknown[] }).value, [
      { EntityEventSequence: 2, ResourceName: 'Media', ResourceRecordKey: 'MA' },
    ]);
    await feed.caughtUp(id);
    const { name } = { name: 'reader' };
    await feed.runtime.db.query({
      text: 'update pulsefeed.consumer set disabled = true where name = $1',
      values: [name],
    });
    await feed.write(`insert into media values ('MC', 'A', 1, 1)`);
    await feed.number();
    await feed.runtime.db.query({
      text: 'update pulsefeed.consumer set disabled = false where name = $1',
      values: [name],
    });
    await until('the second photo', () => receiver.received.length === 2);
    assert.equal(receiver.taken.length, 2, 'a consumer that is disabled keeps its place');
  });

  it('sends the record inside the event when asked, as the consumer may see it then', async () => {
    const feed = await pushFixture({ pushWorker: true });
    const receiver = await scriptedReceiver();
    await feed.events(2);
    await feed.write(
      `delete from property where "ListingKey" = 'L2'; update property set v = 7 where "ListingKey" = 'L1'`,
    );
    const id = await feed.subscribe({
      CallbackUrl: receiver.url,
      EntityEventSequence: 0,
      ExpandRecord: true,
    });
    await until('the batch', () => receiver.received.length > 0);
    const [first] = receiver.received;
    const { value } = JSON.parse(first?.body ?? '') as {
      value: { ResourceRecordKey: string; Record: unknown }[];
    };
    assert.deepEqual(
      value.map(({ ResourceRecordKey, Record }) => [
        ResourceRecordKey,
        (Record as { v?: number } | null)?.v ?? null,
      ]),
      [
        ['L1', 7],
        ['L2', null],
      ],
    );
    await feed.caughtUp(id);
  });

  it('waits for more as long as it was told, and no longer once the batch is full', async () => {
    const feed = await pushFixture();
    const receiver = await scriptedReceiver();
    const id = await feed.subscribe({ CallbackUrl: receiver.url, MaxEvents: 4, MaxWaitMs: 60_000 });
    await feed.work();
    await feed.events(1);
    await feed.events(1);
    await feed.events(2);
    await feed.caughtUp(id);
    assert.deepEqual(
      receiver.received.map(({ sequences }) => sequences.length),
      [4],
    );
    const soon = await scriptedReceiver();
    const other = await feed.subscribe({ CallbackUrl: soon.url, MaxWaitMs: 50 });
    await feed.events(1);
    await feed.caughtUp(other);
    assert.deepEqual(soon.taken, [5n]);
  });

  it('is paused, resumed and sought to a number and to a time, and in flight nothing moves it', async () => {
    const feed = await pushFixture();
    const receiver = await scriptedReceiver();
    await feed.events(3);
    const id = await feed.subscribe({ CallbackUrl: receiver.url });
    const path = `EntityEventSubscription('${id}')`;
    await feed.work();
    assert.equal((await feed.ask('POST', `${path}/Pause`)).json.Status, 'paused');
    await feed.events(1);
    assert.equal(
      (await feed.ask('POST', `${path}/Seek`, { EntityEventSequence: '1' })).json.EntityEventSequence,
      1,
    );
    assert.equal(receiver.received.length, 0);
    await feed.ask('POST', `${path}/org.reso.metadata.Resume`);
    await feed.caughtUp(id);
    assert.deepEqual(receiver.taken, [2n, 3n, 4n]);
    // 1. A POST is under way.
    let answer: () => void = () => undefined;
    receiver.next(response => {
      answer = () => void response.writeHead(200).end();
    });
    await feed.events(1);
    await until('the POST', () => receiver.received.length === 2);
    // 2. The owner goes back to the beginning. 3. The answer comes, and counts for nothing.
    await feed.ask('POST', `${path}/Seek`, { Timestamp: '2000-01-01T00:00:00Z' });
    answer();
    await feed.caughtUp(id);
    assert.deepEqual(receiver.taken.slice(4), [1n, 2n, 3n, 4n, 5n]);
    // 4. Once more from the same place: the same window.
    await feed.ask('POST', `${path}/Seek`, { EntityEventSequence: 0 });
    await feed.caughtUp(id);
    const ids = receiver.received.map(({ headers }) => headers['webhook-id']);
    assert.equal(new Set(ids).size, ids.length, 'a replay has new ids');
    for (const body of [
      {},
      { EntityEventSequence: 1, Timestamp: '2000-01-01T00:00:00Z' },
      { EntityEventSequence: 99 },
    ]) {
      assert.equal((await feed.ask('POST', `${path}/Seek`, body)).status, 400);
    }
    assert.equal((await feed.ask('GET', `${path}/Resume`)).status, 405);
  });

  it('has its secret rotated with both keys alive for a while', async () => {
    const feed = await pushFixture();
    const receiver = await scriptedReceiver();
    const made = await feed.ask('POST', 'EntityEventSubscription', { CallbackUrl: receiver.url });
    const id = String(made.json.EntityEventSubscriptionKey);
    const rotated = await feed.ask('POST', `EntityEventSubscription('${id}')/RotateSecret`, {
      OverlapSeconds: 600,
    });
    assert.notEqual(rotated.json.SigningSecret, made.json.SigningSecret);
    await feed.work();
    await feed.events(1);
    await feed.caughtUp(id);
    await feed.runtime.db.query({ text: `update pulsefeed.push_subscription set previous_until = now()` });
    await feed.events(1);
    await feed.caughtUp(id);
    const counts = receiver.received.map(
      ({ headers }) => String(headers['webhook-signature']).split(' ').length,
    );
    assert.deepEqual(counts, [2, 1]);
  });

  it('must be initialised anew after the database was restored, or where removals are not kept', async () => {
    const feed = await pushFixture();
    const receiver = await scriptedReceiver();
    receiver.next(status(500));
    await feed.events(4);
    const id = await feed.subscribe({ CallbackUrl: receiver.url, EntityEventSequence: 1 });
    await feed.work();
    await until('the failure', async () => (await feed.row(id)).failures === 1);
    await feed.write(`
insert into pulsefeed.tombstone_horizon (feed_id, seq) select id, 3 from pulsefeed.feed where name = 'IDX'`);
    await feed.dueNow(id);
    await until('the stop', async () => (await feed.row(id)).state === 'must-reinitialise');
    assert.deepEqual([receiver.received.length, (await feed.row(id)).cursor_seq], [1, 1n]);
    const path = `EntityEventSubscription('${id}')`;
    assert.equal((await feed.ask('POST', `${path}/Resume`)).status, 409);
    assert.equal((await feed.ask('POST', `${path}/Seek`, { EntityEventSequence: 0 })).json.Status, 'active');
    await feed.caughtUp(id);
    assert.deepEqual(receiver.taken, [1n, 2n, 3n, 4n]);
    await feed.write('update pulsefeed.log_head set epoch = epoch + 1');
    await feed.events(1);
    await until('the second stop', async () => (await feed.row(id)).state === 'must-reinitialise');
    assert.equal(receiver.taken.length, 4);
    assert.equal((await feed.ask('GET', path)).json.Status, 'must-reinitialise');
  });

  it('loses nothing of a frozen batch that compaction thins out, and keeps its id', async () => {
    const feed = await pushFixture();
    const receiver = await scriptedReceiver();
    receiver.next(status(500));
    await feed.events(3);
    const id = await feed.subscribe({ CallbackUrl: receiver.url, EntityEventSequence: 0 });
    await feed.work();
    await until('the failure', async () => (await feed.row(id)).failures === 1);
    // The batch [1, 2, 3] is frozen; 2 is superseded by 4 and goes from the log.
    await feed.write(`update property set v = 2 where "ListingKey" = 'L2'`);
    await feed.number();
    await feed.runtime.log.retire({ lag: { events: 0n }, limit: 1_000 });
    await feed.dueNow(id);
    await feed.caughtUp(id);
    assert.deepEqual(receiver.taken, [1n, 3n, 4n]);
    const [first, again, last] = receiver.received.map(({ headers }) => headers['webhook-id']);
    assert.equal(again, first);
    assert.notEqual(last, first);
  });

  it('freezes a batch anew, under another id, when more is in its window than was frozen', async () => {
    const feed = await pushFixture();
    const receiver = await scriptedReceiver();
    receiver.next(status(500));
    await feed.events(3);
    const id = await feed.subscribe({ CallbackUrl: receiver.url, EntityEventSequence: 0 });
    await feed.work();
    await until('the failure', async () => (await feed.row(id)).failures === 1);
    // As a grant leaves it: two were frozen, and one more of the window can be seen now.
    await feed.runtime.db.query({
      text: 'update pulsefeed.push_subscription set batch_count = 2, due_at = now()',
    });
    await feed.caughtUp(id);
    assert.deepEqual(receiver.taken, [1n, 2n, 3n]);
    assert.match(String(receiver.received.at(-1)?.headers['webhook-id']), /\.0-3\.3$/);
  });

  it('leaves nothing to the frozen batch whose pulses have all gone', async () => {
    const feed = await pushFixture();
    const receiver = await scriptedReceiver();
    receiver.next(status(500));
    await feed.events(1);
    const id = await feed.subscribe({ CallbackUrl: receiver.url, EntityEventSequence: 0 });
    await feed.work();
    await until('the failure', async () => (await feed.row(id)).failures === 1);
    await feed.write(`update property set v = 2`);
    await feed.number();
    await feed.runtime.log.retire({ lag: { events: 0n }, limit: 1_000 });
    await feed.dueNow(id);
    await feed.caughtUp(id);
    assert.deepEqual(
      receiver.received.map(({ sequences }) => sequences),
      [[1n], [2n]],
    );
  });
});
