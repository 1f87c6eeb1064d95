import assert from 'node:assert/strict';
import { asker } from './cases/ask.ts';
import { openServedFeed, type ServedFeed } from './cases/served-feed.ts';

describe('links behind a proxy', () => {
  const nextLink = async (feed: ServedFeed, headers: Record<string, string>, path = '/EntityEvent') => {
    const asked = await asker(`http://127.0.0.1:${feed.port}`)(path, { prefer: 'maxpagesize=1', ...headers });
    return (asked.json['@odata.nextLink'] as string | undefined)?.split('?')[0];
  };
  const forwarded = {
    'x-forwarded-proto': 'https',
    'x-forwarded-host': 'feed.example',
    'x-forwarded-port': '80',
    'x-forwarded-prefix': '/reso/',
  };

  it('follow X-Forwarded-* of a trusted proxy only', async function () {
    this.timeout(60_000);
    const trusting = await openServedFeed({ settings: { trustProxy: 'true' } });
    try {
      await trusting.pulse([
        ['Note', '1'],
        ['Note', '2'],
      ]);
      assert.equal(await nextLink(trusting, forwarded), 'https://feed.example/reso/EntityEvent');
      assert.equal(
        await nextLink(trusting, { ...forwarded, 'x-forwarded-host': 'feed.example:8443' }),
        'https://feed.example:8443/reso/EntityEvent',
      );
      const own = `http://127.0.0.1:${trusting.port}/EntityEvent`;
      assert.equal(await nextLink(trusting, {}), own);
      for (const prefix of ['//evil.example', '/../x', '/a b', 'x', '/a?b', '/a"b']) {
        assert.equal(await nextLink(trusting, { 'x-forwarded-prefix': prefix }), own, prefix);
      }
      for (const host of ['evil/x', 'a b', '"><script>', 'a@b']) {
        assert.equal(
          await nextLink(trusting, { 'x-forwarded-host': host }),
          `http://localhost:${trusting.port}/EntityEvent`,
          host,
        );
      }
      assert.equal(await nextLink(trusting, { 'x-forwarded-proto': 'javascript' }), own);
    } finally {
      await trusting.close();
    }
  });

  it('are not bent by a client that sends X-Forwarded-* itself', async function () {
    this.timeout(60_000);
    const feed = await openServedFeed();
    try {
      await feed.pulse([
        ['Note', '1'],
        ['Note', '2'],
      ]);
      assert.equal(await nextLink(feed, forwarded), `http://127.0.0.1:${feed.port}/EntityEvent`);
    } finally {
      await feed.close();
    }
  });

  it('use the configured public root, whether or not the proxy takes its prefix off', async function () {
    this.timeout(60_000);
    const feed = await openServedFeed({ settings: { publicUrl: 'https://feed.example/reso/' } });
    try {
      await feed.pulse([
        ['Note', '1'],
        ['Note', '2'],
      ]);
      const link = 'https://feed.example/reso/EntityEvent';
      assert.equal(await nextLink(feed, forwarded), link);
      assert.equal(await nextLink(feed, {}, '/reso/EntityEvent'), link);
      const ask = asker(`http://127.0.0.1:${feed.port}`);
      assert.equal((await ask('/reso')).json['@odata.context'], 'https://feed.example/reso/$metadata');
      assert.equal((await ask('/resort')).status, 404);
    } finally {
      await feed.close();
    }
  });
});
