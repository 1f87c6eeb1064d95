import assert from 'node:assert/strict';
import { type ServedFeeds, serveFeeds } from '../../testing/served-feeds.ts';

/** Interleaved pairs of requests whose times are compared. */
const pairs = Number(process.env.PULSEFEED_TORTURE_LEAK_PAIRS ?? 150);

const feeds = { IDX: { Property: 'a eq 1', Media: { inherit: 'Property' } } };

async function openHidden(): Promise<ServedFeeds & { url: string; token: string }> {
  const served = await serveFeeds({ feeds });
  // P1 and its photo M1 are hidden; P2 and M2 never were; keys of one length, so that answers can be compared whole.
  await served.write(`
    insert into property values ('P0', 'O0', 1, 1), ('P1', 'O0', 0, 1);
    insert into media values ('M0', 'P0', 1, 1), ('M1', 'P1', 1, 1)`);
  await served.number();
  const { token } = await served.consumer('reader', ['IDX']);
  return { ...served, url: served.urls[0] ?? '', token };
}

/** Everything of an answer that a consumer can see, with the key that was asked for blotted out. */
async function seen(url: string, init: RequestInit, key: string): Promise<string> {
  const response = await fetch(url, init);
  const headers = [...response.headers].filter(([name]) => !['date', 'x-request-id'].includes(name));
  const text = `${response.status} ${JSON.stringify(headers)} ${await response.text()}`;
  return text.replaceAll(key, 'KEY').replaceAll(/"(id|requestId)":"[0-9a-f-]{36}"/g, '"id"');
}

describe('hidden records', () => {
  it('answer exactly as records that never existed, wherever they are asked for', async () => {
    const { url, token } = await openHidden();
    const routes: ((key: string) => string)[] = [
      key => `/Property('${key}')`,
      key => `/Property('${key}')?$select=ListingKey`,
      key => `/Property('${key}')/ListingKey`,
      key => `/Property('${key}')?$expand=Media`,
      key => `/Property('${key}')/Media`,
      key => `/Property?$filter=ListingKey eq '${key}'&$count=true`,
      key => `/Property/$count?$filter=ListingKey eq '${key}'`,
      key => `/Media/$count?$filter=ResourceRecordKey eq '${key}'`,
      key => `/EntityEvent?$filter=ResourceRecordKey eq '${key}'&$count=true`,
      key => `/EntityEvent/$count?$filter=ResourceRecordKey eq '${key}'`,
    ];
    for (const route of routes) {
      const init = { headers: { Authorization: `Bearer ${token}` } };
      const hidden = await seen(url + route('P1'), init, 'P1');
      assert.equal(hidden, await seen(url + route('P2'), init, 'P2'), route('KEY'));
    }
    const batch = (key: string) => ({
      method: 'POST',
      headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
      body: JSON.stringify({ requests: [{ id: '1', method: 'GET', url: `Property('${key}')` }] }),
    });
    const hidden = await seen(`${url}/$batch`, batch('P1'), 'P1');
    assert.match(hidden, /404/);
    assert.equal(hidden, await seen(`${url}/$batch`, batch('P2'), 'P2'));
    const remove = { method: 'DELETE', headers: { Authorization: `Bearer ${token}` } };
    assert.equal(
      await seen(`${url}/Property('P1')`, remove, 'P1'),
      await seen(`${url}/Property('P2')`, remove, 'P2'),
    );
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
