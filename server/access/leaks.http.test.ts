import assert from 'node:assert/strict';
import { type ServedFeedsOptions, serveFeeds } from '../../testing/served-feeds.ts';

/** Interleaved pairs of requests whose times are compared. */
const pairs = Number(process.env.PULSEFEED_TORTURE_LEAK_PAIRS ?? 150);

const feeds = {
  IDX: { Property: 'a eq 1', Media: { inherit: 'Property' } },
  VOW: { Property: true, Media: true },
} as const;

/** A request by method, path and body, in which `P?` and `M?` stand for the keys. */
type Asked =
  | string
  | readonly [method: string, path: string, body?: string | undefined, headers?: Record<string, string>];

const multipart = [
  '--b',
  'Content-Type: application/http',
  '',
  "GET Property('P?') HTTP/1.1",
  '',
  '',
  '--b--',
  '',
].join('\r\n');

const inBatch = (method: string, url: string, body?: object): Asked => [
  'POST',
  '/$batch',
  JSON.stringify({
    requests: [
      { id: '1', method, url, headers: { 'Content-Type': 'application/json' }, ...(body && { body }) },
    ],
  }),
];

/** Every way to ask for a key, also ways that are refused. */
const asked: Readonly<Record<string, readonly Asked[]>> = {
  'by key': [
    `/Property('P?')`,
    `/Property(ListingKey='P?')`,
    `/Property/P?`,
    `/Media('M?')`,
    `/Property('P?')/ListingKey`,
    `/Property('P?')/ListingKey/$value`,
    `/Property('P?')/a/$value`,
    `/Property('P?')/$ref`,
    `/Property('P?')/$count`,
    `/Property('P?')/Nothing`,
    `/Property('P?')/Media`,
    `/Property('P?')/Media/$count`,
    `/Property('P?')/Media/$ref`,
    `/Property('P?')/Media('M?')`,
    `/Property('P0')/Media('M?')`,
    `/Property('P?')/Media('M0')`,
    `/Property('P?')/ListOffice`,
    `/Media('M?')/Property`,
    `/$entity?$id=Property('P?')`,
    ['HEAD', `/Property('P?')`],
    ['OPTIONS', `/Property('P?')`],
    ['GET', `/Property('P?')`, undefined, { 'If-None-Match': '*' }],
    ['GET', `/Property('P?')`, undefined, { Accept: 'application/json;odata.metadata=full' }],
  ],
  'with options': [
    `/Property('P?')?$select=ListingKey`,
    `/Property('P?')?$select=Nothing`,
    `/Property('P?')?$expand=Media`,
    `/Property('P?')?$expand=Media($filter=MediaKey eq 'M?';$count=true)`,
    `/Property('P?')?$expand=Nothing`,
    `/Property('P?')?$filter=a eq 1`,
    `/Property('P?')/Media?$filter=MediaKey eq 'M?'&$count=true`,
  ],
  'in lists': [
    `/Property?$filter=ListingKey eq 'P?'&$count=true`,
    `/Property?$filter=ListingKey in ('P?','P0')&$count=true&$top=1`,
    `/Property?$filter=ListingKey ge 'P?' and ListingKey le 'P?'&$orderby=a desc&$skip=0`,
    `/Property?$filter=Media/any(m:m/MediaKey eq 'M?')`,
    `/Property?$filter=a div (a sub 0) eq 1 and ListingKey eq 'P?'`,
    `/Property?$expand=Media($filter=MediaKey eq 'M?';$count=true)`,
    `/Property/$count?$filter=ListingKey eq 'P?'`,
    `/Media/$count?$filter=ResourceRecordKey eq 'P?'`,
    `/Media?$filter=Property/a eq 0 and MediaKey eq 'M?'`,
    ['POST', '/Property/$query', `$filter=ListingKey eq 'P?'`, { 'Content-Type': 'text/plain' }],
  ],
  'in the log': [
    `/EntityEvent?$filter=ResourceRecordKey eq 'P?'&$count=true`,
    `/EntityEvent?$filter=ResourceRecordUrl ne null and ResourceRecordKey eq 'M?'`,
    `/EntityEvent?$filter=ResourceRecordKey eq 'P?'&$orderby=EntityEventSequence desc`,
    `/EntityEvent?$filter=FeedTypes/any(f:f eq 'VOW') and ResourceRecordKey eq 'P?'`,
    `/EntityEvent/$count?$filter=ResourceRecordKey eq 'P?'`,
  ],
  'in a batch': [
    inBatch('GET', `Property('P?')`),
    inBatch('GET', `Property('P?')/Media?$count=true`),
    inBatch('DELETE', `Property('P?')`),
    inBatch('PATCH', `Property('P?')`, { a: 1 }),
    ['POST', '/$batch', multipart, { 'Content-Type': 'multipart/mixed; boundary=b' }],
  ],
  'to change it': [
    ['DELETE', `/Property('P?')`],
    ['PATCH', `/Property('P?')`, '{"a":1}'],
    ['PATCH', `/Property('P?')`, '{"a":"wrong"}'],
    ['PATCH', `/Property('P?')`, '{"a":1}', { 'If-Match': 'W/"1"' }],
    ['PUT', `/Property('P?')/a`, '{"value":1}'],
    ['DELETE', `/Property('P?')/Media/$ref?$id=Media('M?')`],
    ['POST', `/Property('P?')/Media`, '{"MediaKey":"M0"}'],
  ],
};

async function openHidden(options: Pick<ServedFeedsOptions, 'onStatement'> = {}) {
  const served = await serveFeeds({ feeds, settings: { feedTypes: true }, ...options });
  // P1 and its photo M1 are hidden; P2 and M2 never were; keys of one length, so that answers can be compared whole.
  await served.write(`
    insert into property values ('P0', 'O0', 1, 1), ('P1', 'O0', 0, 1);
    insert into media values ('M0', 'P0', 1, 1), ('M1', 'P1', 1, 1)`);
  await served.number();
  const { token } = await served.consumer('reader', ['IDX']);
  const { token: writer } = await served.consumer('writer', ['IDX'], ['read', 'write']);
  return { ...served, url: served.urls[0] ?? '', token, writer };
}

/** Everything of an answer that a consumer can see, with the keys that were asked for blotted out. */
async function seen(
  url: string,
  asks: Asked,
  token: string,
  property: string,
  media: string,
): Promise<string> {
  const [method, path, body, headers] = typeof asks === 'string' ? ['GET', asks] : asks;
  const put = (text: string) => text.replaceAll('P?', property).replaceAll('M?', media);
  const response = await fetch(url + put(path), {
    method,
    headers: {
      Authorization: `Bearer ${token}`,
      ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: put(body) }),
  });
  const told = [...response.headers].filter(([name]) => !['date', 'x-request-id'].includes(name));
  const text = `${response.status} ${JSON.stringify(told)} ${await response.text()}`;
  return text
    .replaceAll(property, 'P?')
    .replaceAll(media, 'M?')
    .replaceAll(/"(id|requestId)":"[0-9a-f-]{36}"/g, '"id"')
    .replaceAll(/batch_?[0-9a-f-]{36}/g, 'boundary');
}

/** What a consumer is served of every list, page by page of one row, with the links as they are. */
async function walkAll(url: string, token: string): Promise<string[]> {
  const pages: string[] = [];
  for (const path of [
    '/EntityEvent',
    '/Property?$expand=Media&$count=true',
    '/Media?$orderby=v desc',
    '/Office',
  ]) {
    for (let next: string | undefined = url + path; next !== undefined; ) {
      const headers = { Authorization: `Bearer ${token}`, Prefer: 'odata.maxpagesize=1' };
      const text: string = (await (await fetch(next, { headers })).text()).replaceAll(url, '');
      // A row's tag is its transaction, which no two databases give alike.
      pages.push(text.replaceAll(/W\/\\"\d+\\"/g, 'tag'));
      const link = (JSON.parse(text) as Record<string, unknown>)['@odata.nextLink'];
      next = typeof link === 'string' ? url + link : undefined;
    }
  }
  return pages;
}

describe('hidden records', () => {
  for (const [how, routes] of Object.entries(asked)) {
    it(`answer exactly as records that never existed: ${how}`, async () => {
      const { url, token, writer } = await openHidden();
      for (const by of [token, writer]) {
        for (const route of routes) {
          const hidden = await seen(url, route, by, 'P1', 'M1');
          const never = await seen(url, route, by, 'P2', 'M2');
          assert.equal(hidden, never, `${JSON.stringify(route)}`);
        }
      }
    });
  }

  it('run the statements that records that never existed run, and no more', async () => {
    const statements: string[] = [];
    const { url, token } = await openHidden({ onStatement: text => statements.push(text) });
    const run = async (route: Asked, property: string, media: string) => {
      await seen(url, route, token, property, media);
      // Who asks is remembered for a second: whether it is looked up depends on the clock alone.
      return statements.splice(0).filter(text => !text.includes('consumer_token'));
    };
    for (const route of Object.values(asked).flat()) {
      await run(route, 'P1', 'M1');
      const hidden = await run(route, 'P1', 'M1');
      assert.deepEqual(hidden, await run(route, 'P2', 'M2'), JSON.stringify(route));
    }
  });

  it('leave no trace in what others are served: lists, links, counts and numbers of a log without them', async () => {
    // Hidden from every feed: such a record gets no number either, and the two logs are the same.
    const only = { IDX: feeds.IDX };
    const settings = { tokenKey: 'the same for both servers, 32 characters', feedTypes: true };
    const [withHidden, without] = [
      await serveFeeds({ feeds: only, settings }),
      await serveFeeds({ feeds: only, settings }),
    ];
    const shown = `
      insert into property values ('P0', 'O0', 1, 1), ('P4', 'O0', 1, 1), ('P8', 'O0', 1, 1);
      insert into media values ('M0', 'P0', 1, 1), ('M4', 'P4', 1, 1)`;
    await withHidden.write(`insert into property values ('P1', 'O0', 0, 1), ('P5', 'O0', 0, 1);
      insert into media values ('M1', 'P1', 1, 1), ('M5', 'P5', 1, 1); ${shown}`);
    await without.write(shown);
    const answers = [];
    for (const { number, write, consumer, urls } of [withHidden, without]) {
      await number();
      await write(`update property set v = 2 where "ListingKey" <> 'P8'`);
      await number();
      const { token } = await consumer('reader', ['IDX']);
      answers.push(await walkAll(urls[0] ?? '', token));
    }
    assert.ok(String(answers[0]).includes('skiptoken'), 'links were followed');
    assert.deepEqual(answers[0], answers[1]);
    assert.ok(!String(answers[0]).includes('error'), String(answers[0]));
  });

  it('stand in no list, count or page', async () => {
    const { url, token } = await openHidden();
    for (const [route, field] of [
      ['/Property?$count=true', 'ListingKey'],
      ['/Media?$count=true', 'MediaKey'],
      ['/EntityEvent?$count=true', 'ResourceRecordKey'],
    ] as const) {
      const response = await fetch(url + route, { headers: { Authorization: `Bearer ${token}` } });
      const text = await response.text();
      const body = JSON.parse(text) as { value: Record<string, unknown>[]; '@odata.count': number };
      assert.equal(body.value.length, body['@odata.count'] ?? -1, text);
      assert.ok(
        body.value.every(row => ['P0', 'M0'].includes(String(row[field]))),
        text,
      );
      assert.ok(!/[PM]1/.test(text), text);
    }
  });

  it('take as long as records that never existed', async function () {
    this.timeout(60_000 + pairs * 200);
    const { url, token } = await openHidden();
    const init = { headers: { Authorization: `Bearer ${token}` } };
    const ask = async (key: string) => {
      const from = performance.now();
      await (await fetch(`${url}/Property('${key}')`, init)).text();
      return performance.now() - from;
    };
    for (let n = 0; n < 20; n += 1) await ask(n % 2 === 0 ? 'P1' : 'P2');
    const [hidden, never]: [number[], number[]] = [[], []];
    for (let n = 0; n < pairs; n += 1) {
      // Each goes first as often as the other.
      if (n % 2 === 0) hidden.push(await ask('P1'));
      never.push(await ask('P2'));
      if (n % 2 === 1) hidden.push(await ask('P1'));
    }
    const auc = areaUnderCurve(hidden, never);
    // Three standard deviations of the estimate for equal times, and never less than what is promised.
    const within = Math.max(0.05, 3 * Math.sqrt((2 * pairs + 1) / (12 * pairs * pairs)));
    assert.ok(Math.abs(auc - 0.5) <= within, `area under the ROC curve ${auc.toFixed(3)} of ${pairs} pairs`);
  });
});

/** The probability that a time of `a` is larger than one of `b`; 0.5 when they cannot be told apart. */
function areaUnderCurve(a: readonly number[], b: readonly number[]): number {
  let larger = 0;
  for (const x of a) for (const y of b) larger += x > y ? 1 : x === y ? 0.5 : 0;
  return larger / (a.length * b.length);
}
