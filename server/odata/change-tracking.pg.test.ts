import assert from 'node:assert/strict';
import { asker, assertError, walk } from './cases/ask.ts';
import { openServedFeed, type ServedFeed } from './cases/served-feed.ts';

type Row = Readonly<Record<string, unknown>>;

describe('change tracking', () => {
  let feed: ServedFeed;
  let ask: ReturnType<typeof asker>;
  let keys = 0;
  before(async function () {
    this.timeout(60_000);
    feed = await openServedFeed();
    ask = asker(feed.url);
    await addEvents(60);
  });
  after(() => feed.close());

  /** Appends so many events of new records at once. */
  async function addEvents(count: number): Promise<void> {
    const changes = Array.from({ length: count }, () => {
      keys += 1;
      return { resource: 'Note', key: `k${keys}`, op: 'upsert' as const };
    });
    await feed.runtime.log.append(undefined, changes);
    await feed.pulse([]);
  }

  const numbers = (rows: readonly Row[]) => rows.map(row => row.EntityEventSequence as number);
  const pagesOf = (size: number) => ({ prefer: `maxpagesize=${size}` });

  const tracked = (size: number) => ({ prefer: `odata.track-changes,maxpagesize=${size}` });

  it('ends a tracked walk in a deltaLink, told once in Preference-Applied', async () => {
    const first = await ask("/EntityEvent?$filter=ResourceName eq 'Note'&$count=true&$top=20", tracked(15));
    assert.match(first.headers.get('preference-applied') ?? '', /track-changes/);
    assert.equal('@odata.deltaLink' in first.json, false);
    // The preference need not be repeated on a link.
    const last = await ask(first.json['@odata.nextLink'] as string, pagesOf(15));
    assert.doesNotMatch(last.headers.get('preference-applied') ?? '', /track-changes/);
    const link = last.json['@odata.deltaLink'] as string;
    assert.match(link, /\$deltatoken=/);
    assert.doesNotMatch(link, /[?&]\$(?:top|skip|count|skiptoken)=/);
    // $top ended the walk: what it left is still owed.
    const owed = await ask(link);
    assert.equal(owed.json['@odata.context'], `${feed.url}/$metadata#EntityEvent/$delta`);
    const before = numbers(last.json.value ?? []).at(-1) ?? 0;
    assert.ok((numbers(owed.json.value ?? [])[0] ?? 0) > before);
  });

  it('reads exactly what came since, again and again, page by page', async () => {
    const start = await walk(ask, '/EntityEvent?$select=ResourceRecordKey', tracked(1_000));
    const link = start.pages.at(-1)?.['@odata.deltaLink'] as string;
    const idle = await ask(link);
    assert.deepEqual(idle.json.value, []);
    await addEvents(5);
    assert.equal(
      (await ask(link.replace('EntityEvent?', 'EntityEvent/$count?').replace(/\$select=[^&]*&/, ''))).text,
      '5',
    );
    const { rows, pages } = await walk(ask, idle.json['@odata.deltaLink'] as string, pagesOf(2));
    assert.equal(rows.length, 5);
    assert.equal(pages.length, 3);
    for (const page of pages) {
      assert.equal(page['@odata.context'], `${feed.url}/$metadata#EntityEvent(ResourceRecordKey)/$delta`);
    }
    // The key was not selected, so that only the id can tell the entries apart.
    assert.equal(new Set(rows.map(row => row['@odata.id'])).size, 5);
    await addEvents(1);
    assert.equal((await walk(ask, pages.at(-1)?.['@odata.deltaLink'] as string)).rows.length, 1);
    assert.equal((await ask(`${link}&$count=true&$top=1`)).json['@odata.count'], 6);
  });

  it('ignores the preference where changes are not tracked: in another order, and for records', async () => {
    for (const path of ['/EntityEvent?$orderby=ResourceName', '/Property']) {
      const asked = await ask(path, tracked(1_000));
      assert.equal(asked.status, 200);
      assert.equal('@odata.deltaLink' in asked.json, false);
      assert.doesNotMatch(asked.headers.get('preference-applied') ?? '', /track/);
    }
  });

  it('refuses changes without metadata, forged tokens and two tokens at once', async () => {
    const { pages } = await walk(ask, '/EntityEvent', tracked(1_000));
    const link = pages.at(-1)?.['@odata.deltaLink'] as string;
    assertError(await ask(link, { accept: 'application/json;odata.metadata=none' }), 406, 'EE-109');
    assertError(await ask(`${link}x`), 400, 'EE-104', '$deltatoken');
    assertError(await ask(`${link}&$skiptoken=abc`), 400, 'EE-104');
    assertError(await ask('/Property?$deltatoken=abc'), 400, 'EE-104');
  });
});
