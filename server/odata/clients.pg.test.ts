import assert from 'node:assert/strict';
import { OData } from '@odata/client';
import { o } from 'odata';
import { oData } from 'ts-odatajs';
import { asker, walk } from './cases/ask.ts';
import { openServedFeed, type ServedFeed } from './cases/served-feed.ts';

interface Event {
  readonly EntityEventSequence: number;
  readonly ResourceName: string;
  readonly ResourceRecordKey: string;
}

describe('public clients', () => {
  let feed: ServedFeed;
  const total = 25;
  before(async function () {
    this.timeout(60_000);
    feed = await openServedFeed({ settings: { pageSize: 7 } });
    const changes = Array.from({ length: total }, (_, n) => ({
      resource: 'Note',
      key: `n'${n}`,
      op: 'upsert' as const,
    }));
    await feed.runtime.log.append(undefined, changes);
    await feed.pulse([]);
  });
  after(() => feed.close());

  const numbers = Array.from({ length: total }, (_, n) => n + 1);

  describe('@odata/client', () => {
    const connect = () => OData.New4({ serviceEndpoint: `${feed.url}/` });

    it('reads the feed to its end by its last number', async () => {
      const set = connect().getEntitySet<Event>('EntityEvent');
      const seen: number[] = [];
      for (let cursor = 0, page = 0; ; page += 1) {
        assert.ok(page < 20, 'the feed does not end');
        const filter = OData.newFilter().property('EntityEventSequence').gt(cursor);
        const events = await set.query(
          OData.newOptions<Event>().filter(filter).top(10).orderby('EntityEventSequence', 'asc'),
        );
        if (events.length === 0) break;
        seen.push(...events.map(event => event.EntityEventSequence));
        cursor = seen.at(-1) ?? 0;
      }
      assert.deepEqual(seen, numbers);
    });

    it('fetches by key, counts, and meets an error it can read', async () => {
      const client = connect();
      const set = client.getEntitySet<Event>('EntityEvent');
      assert.equal((await set.retrieve(3)).ResourceRecordKey, "n'2");
      assert.equal(await set.count(), total);
      const key = OData.newFilter()
        .property('ResourceRecordKey')
        .eq("'n''5'" as never);
      assert.ok(Array.isArray(await set.query(key).catch(() => [])));
      await assert.rejects(set.retrieve(999), /no such record/);
    });

    it('sends batches in both formats', async () => {
      const client = connect();
      const requests = () => [
        client.newBatchRequest<Event>({
          collection: 'EntityEvent',
          params: OData.newOptions().top(2) as never,
        }),
        client.newBatchRequest<Event>({ collection: 'EntityEvent', id: 4 as never, method: 'GET' }),
      ];
      for (const run of [
        () => client.execBatchRequests(requests()),
        () => client.execBatchRequestsJson(requests()),
      ]) {
        const [list, one] = await run();
        assert.equal(list?.status, 200);
        assert.ok(list !== undefined && one !== undefined);
        const { value } = (await list.json()) as { value: Event[] };
        assert.equal(value.length, 2);
        assert.equal(((await one.json()) as unknown as Event).ResourceRecordKey, "n'3");
      }
    });
  });

  describe('o.js', () => {
    it('reads the feed to its end by its last number', async () => {
      const seen: number[] = [];
      for (let cursor = 0, page = 0; ; page += 1) {
        assert.ok(page < 20, 'the feed does not end');
        const asked = o(feed.url).get('EntityEvent');
        const events = (await asked.query({
          $filter: `EntityEventSequence gt ${cursor}`,
          $top: 10,
        })) as Event[];
        if (events.length === 0) break;
        seen.push(...events.map(event => event.EntityEventSequence));
        cursor = seen.at(-1) ?? 0;
      }
      assert.deepEqual(seen, numbers);
    });

    it('sends a batch with absolute URLs', async () => {
      const answers = (await o(`${feed.url}/`).get('EntityEvent(1)').get('EntityEvent?$top=3').batch()) as {
        readonly body: unknown;
      }[];
      assert.equal(answers.length, 2);
      assert.match(JSON.stringify(answers), /n'0/);
    });
  });

  describe('ts-odatajs', () => {
    const read = (requestUri: string) =>
      new Promise<{ readonly value: readonly Event[]; readonly '@odata.nextLink'?: string }>(
        (resolve, reject) => {
          oData.read(requestUri, resolve as (data: unknown) => void, error =>
            reject(new Error(error.message)),
          );
        },
      );

    it('reads the feed to its end by nextLink', async () => {
      const seen: number[] = [];
      let pages = 0;
      for (let next: string | undefined = `${feed.url}/EntityEvent`; next !== undefined; pages += 1) {
        assert.ok(pages < 20, 'the feed does not end');
        const page = await read(next);
        seen.push(...page.value.map(event => event.EntityEventSequence));
        next = page['@odata.nextLink'];
      }
      assert.deepEqual(seen, numbers);
      assert.equal(pages, 4);
    });
  });

  describe('Power Query', () => {
    /** What Excel and Power BI send. */
    const profile = {
      accept:
        'application/json;odata.metadata=minimal;q=1.0,application/json;odata=minimalmetadata;q=0.9,application/atomsvc+xml;q=0.8,application/atom+xml;q=0.8,application/xml;q=0.7,text/plain;q=0.7',
      'odata-maxversion': '4.0',
      maxdataserviceversion: '3.0',
      'accept-encoding': 'gzip, deflate',
      'user-agent': 'Microsoft.Data.Mashup',
    };

    it('finds a service, its metadata as XML, and pages it can follow', async () => {
      const ask = asker(feed.url);
      const service = await ask('/', profile);
      assert.equal(service.headers.get('content-type'), 'application/json;odata.metadata=minimal');
      assert.equal(service.headers.get('odata-version'), '4.0');
      const metadata = await ask('/$metadata', profile);
      assert.match(metadata.headers.get('content-type') ?? '', /^application\/(?:xml|json)/);
      const xml = await ask('/$metadata', { ...profile, accept: 'application/xml' });
      assert.equal(xml.headers.get('content-type'), 'application/xml');
      const { rows, pages } = await walk(ask, '/EntityEvent', profile);
      assert.deepEqual(
        rows.map(row => row.EntityEventSequence),
        numbers,
      );
      for (const page of pages) assert.equal(page['@odata.context'], `${feed.url}/$metadata#EntityEvent`);
    });

    it('folds its steps into options', async () => {
      const ask = asker(feed.url);
      for (const [query, length] of [
        [
          '$filter=EntityEventSequence%20gt%2020&$select=ResourceRecordKey%2CEntityEventSequence&$top=1000',
          5,
        ],
        ["$filter=ResourceName eq 'Note' and EntityEventSequence le 3&$orderby=EntityEventSequence desc", 3],
        ['$top=1000', 25],
        ['$skip=20&$top=10&$count=true', 5],
        ['$filter=(ResourceName%20eq%20%27Note%27)%20and%20(EntityEventSequence%20ge%2024)', 2],
      ] as const) {
        const { rows } = await walk(ask, `/EntityEvent?${query}`, profile);
        assert.equal(rows.length, length, query);
      }
    });
  });

  it('answers the request forms of other clients', async () => {
    const ask = asker(feed.url);
    // SAP Cloud SDK wraps filters; odata2ts doubles the slash; some encode the dollar sign.
    const forms = [
      '//EntityEvent?%24filter=(EntityEventSequence%20gt%2020)&%24top=2',
      '/EntityEvent?$format=json&%24top=2',
      '/EntityEvent?$filter=((EntityEventSequence%20ge%201)%20and%20(ResourceName%20eq%20%27Note%27))&$top=2',
      "/EntityEvent?$filter=ResourceName in ('Note','O''Neil')&$top=2",
      '/EntityEvent?$filter=EntityEventSequence+gt+3&$top=2',
    ];
    for (const form of forms) {
      const asked = await ask(form, { 'content-type': 'application/json' });
      assert.equal(asked.json.value?.length, 2, `${form} ${asked.text}`);
    }
  });
});
