import assert from 'node:assert/strict';
import { asker, assertError } from '../cases/ask.ts';
import { openServedFeed, type ServedFeed } from '../cases/served-feed.ts';

interface Answered {
  readonly id: string;
  readonly status: number;
  readonly atomicityGroup?: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: {
    readonly value?: readonly unknown[];
    readonly error?: { readonly code: string };
  } & Readonly<Record<string, unknown>>;
}

describe('$batch', () => {
  let feed: ServedFeed;
  let ask: ReturnType<typeof asker>;
  before(async function () {
    this.timeout(60_000);
    feed = await openServedFeed();
    ask = asker(feed.url);
    await feed.pulse([
      ['Note', 'n1'],
      ['Property', 'L1'],
      ['Note', 'n2'],
    ]);
  });
  after(() => feed.close());

  const send = (body: string, type: string, headers: Record<string, string> = {}, path = '/$batch') =>
    ask(path, { 'content-type': type, ...headers }, { method: 'POST', body });
  const json = async (
    requests: readonly object[],
    headers: Record<string, string> = {},
  ): Promise<Answered[]> => {
    const asked = await send(JSON.stringify({ requests }), 'application/json', headers);
    assert.equal(asked.status, 200, asked.text);
    return asked.json.responses as Answered[];
  };
  const get = (id: string, url: string, extra: object = {}) => ({ id, method: 'get', url, ...extra });
  const multipart = (...urls: string[]) =>
    `${urls.map(url => `--b\r\nContent-Type: application/http\r\n\r\nGET ${url} HTTP/1.1\r\n\r\n`).join('')}--b--`;
  const statuses = (text: string) => [...text.matchAll(/^HTTP\/1\.1 (\d+)/gm)].map(match => Number(match[1]));

  it('answers in JSON with a response for each request, in order, whatever became of it', async () => {
    const answers = await json([
      get('1', 'EntityEvent?$top=1'),
      get('2', "/Property('L1')/City"),
      get('3', `${feed.url}/EntityEvent/$count`),
      get('4', 'EntityEvent(99)'),
      { id: '5', method: 'POST', url: 'EntityEvent', body: {} },
      get('6', '$metadata'),
      get('7', 'EntityEvent(2)/ResourceRecordUrl'),
      get('8', 'EntityEvent?$filter=Wrong'),
      { id: '9', method: 'HEAD', url: 'EntityEvent' },
    ]);
    assert.deepEqual(
      answers.map(({ id, status }) => [id, status]),
      [
        ['1', 200],
        ['2', 200],
        ['3', 200],
        ['4', 404],
        ['5', 405],
        ['6', 200],
        ['7', 200],
        ['8', 400],
        ['9', 200],
      ],
    );
    const [first, city, count, missing, refused, metadata, , , head] = answers;
    assert.equal(first?.body?.value?.length, 1);
    assert.equal(city?.body?.value, 'Boise');
    assert.equal(count?.body, '3');
    assert.equal(missing?.body?.error?.code, 'EE-107');
    assert.equal(missing?.headers['content-language'], 'en');
    assert.equal(refused?.headers.allow, 'GET, HEAD, OPTIONS');
    assert.match(Buffer.from(String(metadata?.body), 'base64url').toString(), /^<\?xml/);
    assert.equal(head?.body, undefined);
    for (const { headers } of answers) assert.match(headers['odata-version'] ?? '', /^4\.0/);
  });

  it('answers in multipart to multipart, and in the other format where Accept says so', async () => {
    const parts = await send(
      multipart('EntityEvent?$top=1', '/EntityEvent(1)'),
      'multipart/mixed;boundary="b"',
    );
    assert.match(parts.headers.get('content-type') ?? '', /^multipart\/mixed;boundary=/);
    assert.deepEqual(statuses(parts.text), [200, 200]);
    assert.equal(parts.headers.get('odata-version'), '4.01');
    const asJson = await send(multipart('EntityEvent(1)'), 'multipart/mixed;boundary=b', {
      accept: 'application/json',
      'odata-maxversion': '4.01',
    });
    assert.equal((asJson.json.responses as Answered[])[0]?.status, 200);
    // A client of 4.0 cannot mean a batch in JSON.
    const habit = await send(multipart('EntityEvent(1)'), 'multipart/mixed;boundary=b', {
      accept: 'application/json',
    });
    assert.deepEqual(statuses(habit.text), [200]);
    const body = JSON.stringify({ requests: [get('1', 'EntityEvent(1)')] });
    const asParts = await send(body, 'application/json', { accept: 'multipart/mixed' });
    assert.deepEqual(statuses(asParts.text), [200]);
    assertError(await send(body, 'application/json', { accept: 'image/png' }), 406, 'EE-109');
    assertError(await send('<x/>', 'application/xml'), 415, 'EE-111');
    assertError(await ask('/$batch'), 405, 'EE-108');
  });

  it('stops at the first failure in multipart and goes on in JSON, unless told otherwise', async () => {
    const urls = ['EntityEvent(1)', 'EntityEvent(99)', 'EntityEvent(2)'] as const;
    const parts = async (prefer?: string) =>
      send(multipart(...urls), 'multipart/mixed;boundary=b', prefer === undefined ? {} : { prefer });
    assert.deepEqual(statuses((await parts()).text), [200, 404]);
    assert.deepEqual(statuses((await parts('continue-on-error=false')).text), [200, 404]);
    const onward = await parts('odata.continue-on-error');
    assert.deepEqual(statuses(onward.text), [200, 404, 200]);
    assert.equal(onward.headers.get('preference-applied'), 'continue-on-error=true');
    const requests = urls.map((url, index) => get(`${index}`, url));
    assert.deepEqual(
      (await json(requests)).map(({ status }) => status),
      [200, 404, 200],
    );
    const stopped = await json(requests, { prefer: 'odata.continue-on-error=false' });
    assert.deepEqual(
      stopped.map(({ status }) => status),
      [200, 404, 424],
    );
    assert.equal(stopped[2]?.body?.error?.code, 'EE-118');
  });

  it('answers 424 to what depends on a failure, directly or by way of another or of a group', async () => {
    const answers = await json([
      get('a', 'EntityEvent(99)'),
      get('b', 'EntityEvent(1)', { dependsOn: ['a'] }),
      get('c', 'EntityEvent(1)', { dependsOn: ['b'] }),
      get('d', 'EntityEvent(1)'),
      get('e', 'EntityEvent(1)', { dependsOn: ['d'] }),
      get('g1', 'EntityEvent(98)', { atomicityGroup: 'g' }),
      get('f', 'EntityEvent(1)', { dependsOn: ['g'] }),
    ]);
    assert.deepEqual(
      answers.map(({ status }) => status),
      [404, 424, 424, 200, 200, 404, 424],
    );
  });

  it('fails the members of a group together', async () => {
    const answers = await json([
      get('1', 'EntityEvent(1)', { atomicityGroup: 'g' }),
      get('2', 'EntityEvent(99)', { atomicityGroup: 'g' }),
      get('3', 'EntityEvent(2)', { atomicityGroup: 'g' }),
      get('4', 'EntityEvent(1)', { atomicityGroup: 'h' }),
    ]);
    assert.deepEqual(
      answers.map(({ status, atomicityGroup }) => [status, atomicityGroup]),
      [
        [424, 'g'],
        [404, 'g'],
        [424, 'g'],
        [200, 'h'],
      ],
    );
    const changeSet =
      '--b\r\nContent-Type: multipart/mixed;boundary=c\r\n\r\n--c\r\n\r\nPOST EntityEvent HTTP/1.1\r\nContent-Type: application/json\r\n\r\n{}\r\n--c--\r\n--b--';
    assert.deepEqual(statuses((await send(changeSet, 'multipart/mixed;boundary=b')).text), [405]);
  });

  it('begins a URL at what an earlier request named', async () => {
    const answers = await json([
      get('1', 'EntityEvent(2)?$select=ResourceName'),
      get('2', '$1/ResourceRecordKey', { dependsOn: ['1'] }),
      get('3', '$9/X'),
    ]);
    assert.equal(answers[1]?.body?.value, 'L1');
    assert.equal(answers[2]?.body?.error?.code, 'EE-114');
  });

  it('refuses a batch within a batch, a condition, and a URL of another service, one by one', async () => {
    const answers = await json([
      get('1', '$batch'),
      get('2', '/$batch?x'),
      get('3', 'EntityEvent(1)', { if: 'true' }),
      get('4', 'http://other.example/EntityEvent'),
      get('5', '../EntityEvent'),
      get('6', ''),
      get('7', 'EntityEvent(1)', { headers: { 'OData-MaxVersion': '3.0' } }),
    ]);
    assert.deepEqual(
      answers.map(({ status }) => status),
      [400, 400, 501, 400, 400, 200, 400],
    );
  });

  it('takes the version and preferences of each request, the version of the batch where it names none', async () => {
    const requests = [
      get('1', 'EntityEvent(1)'),
      get('2', 'EntityEvent(1)', { headers: { 'odata-maxversion': '4.01' } }),
      get('3', 'EntityEvent', { headers: { Prefer: 'maxpagesize=1' } }),
      get('4', 'EntityEvent(1)', { headers: { 'If-None-Match': 'W/"1"' } }),
    ];
    const answers = await json(requests, { 'odata-maxversion': '4.0' });
    assert.deepEqual(
      answers.map(({ headers }) => headers['odata-version']),
      ['4.0', '4.01', '4.0', '4.0'],
    );
    assert.equal(answers[2]?.body?.value?.length, 1);
    assert.deepEqual([answers[3]?.status, answers[3]?.body], [304, undefined]);
  });

  it('serves POST to $query within a batch', async () => {
    const [answer] = await json([
      {
        id: '1',
        method: 'POST',
        url: 'EntityEvent/$query',
        headers: { 'content-type': 'text/plain' },
        body: '$top=2',
      },
    ]);
    assert.equal(answer?.body?.value?.length, 2);
  });

  it('refuses ids given twice, dependencies that are not before, scattered groups, and conditions on the whole', async () => {
    const refused = async (requests: readonly object[]) =>
      assertError(await send(JSON.stringify({ requests }), 'application/json'), 400, 'EE-114');
    await refused([get('1', 'X'), get('1', 'Y')]);
    await refused([get('1', 'X', { dependsOn: ['2'] }), get('2', 'Y')]);
    await refused([get('1', 'X', { dependsOn: ['1'] })]);
    await refused([get('1', 'X', { atomicityGroup: '2' }), get('2', 'X')]);
    await refused([
      get('1', 'X', { atomicityGroup: 'g' }),
      get('2', 'X'),
      get('3', 'X', { atomicityGroup: 'g' }),
    ]);
    const body = JSON.stringify({ requests: [get('1', 'EntityEvent')] });
    assertError(
      await send(body, 'application/json', { 'if-none-match': '*' }),
      400,
      'EE-100',
      'If-None-Match',
    );
  });

  it('limits members and size', async () => {
    const most = Array.from({ length: 100 }, (_, n) => get(`${n}`, 'EntityEvent(1)'));
    assert.equal((await json(most)).length, 100);
    const tooMany = JSON.stringify({ requests: [...most, get('x', 'EntityEvent(1)')] });
    assertError(await send(tooMany, 'application/json'), 400, 'EE-106');
    assertError(
      await send(multipart(...most.map(() => 'X'), 'X'), 'multipart/mixed;boundary=b'),
      400,
      'EE-106',
    );
    assertError(await send(' '.repeat(1_048_577), 'application/json'), 413, 'EE-110');
    assert.deepEqual(await json([]), []);
  });
});
