import assert from 'node:assert/strict';
import type { LookupAddress } from 'node:dns';
import { scriptedReceiver } from '../../testing/push-fixture.ts';
import { PulsefeedError } from '../base/errors.ts';
import type { PostResult } from './answers.ts';
import { createSender } from './sender.ts';
import { createTargetGuard, type ResolveAll } from './target-guard.ts';

/** Spellings of addresses that nobody outside may have called, in URLs. */
const inside = [
  ...[
    '127.0.0.1',
    '127.1',
    '2130706433',
    '0x7f000001',
    '0177.0.0.1',
    '127.0.0.1.',
    '0',
    '0.0.0.0',
    '①②⑦.0.0.1',
  ],
  ...['10.0.0.1', '172.16.0.1', '192.168.1.1', '100.64.0.1', '169.254.169.254', '192.0.0.192', '198.18.0.1'],
  ...['192.0.2.1', '192.88.99.1', '224.0.0.1', '240.0.0.1', '255.255.255.255', '017700000001', '3232235777'],
  ...[
    '[::]',
    '[::1]',
    '[::ffff:127.0.0.1]',
    '[::ffff:7f00:1]',
    '[::127.0.0.1]',
    '[::7f00:2]',
    '[::ffff:0:7f00:1]',
  ],
  ...[
    '[fc00::1]',
    '[fd00::1]',
    '[fe80::1]',
    '[fec0::1]',
    '[64:ff9b::7f00:1]',
    '[64:ff9b:1::1]',
    '[2002:7f00:1::]',
  ],
  ...['[2001:db8::1]', '[2001::1]', '[ff02::1]', '[100::1]', '[4000::1]'],
];

const post = { headers: {}, body: Buffer.from('x'), timeoutMs: 2_000 };
const detailOf = (result: PostResult) => (result.kind === 'failure' ? result.reason : String(result.status));

describe('a callback', () => {
  const guard = createTargetGuard([], ['443', '8443']);
  const refusal = (text: string): string => {
    try {
      guard.checkUrl(new URL(text));
      return '';
    } catch (error) {
      assert.ok(error instanceof PulsefeedError && error.code === 'EE-502', String(error));
      return error.message;
    }
  };

  it('is https, without a user, on a port of the list', () => {
    assert.equal(refusal('https://example.com/hook?a=b'), '');
    assert.equal(refusal('https://example.com:8443/'), '');
    assert.equal(refusal('https://8.8.8.8/'), '');
    assert.equal(refusal('https://[2606:4700::1111]/'), '');
    for (const url of [
      'http://example.com/',
      'ftp://example.com/',
      'file:///etc/passwd',
      'https://user@example.com/',
      'https://user:secret@example.com/',
      'https://example.com:22/',
      'https://example.com:6379/',
      'http://169.254.169.254/latest/meta-data/',
    ]) {
      assert.notEqual(refusal(url), '', url);
    }
  });

  it('leads to no address of the inside, however it is spelled', () => {
    for (const host of inside) assert.notEqual(refusal(`https://${host}/`), '', host);
  });

  it('leads to listed networks alone besides, over http too', () => {
    const open = createTargetGuard(['127.0.0.0/8', '::1', '10.1.2.3'], ['443']);
    for (const url of [
      'http://127.9.9.9:5000/',
      'http://[::1]:81/',
      'https://10.1.2.3:9/',
      'http://name.example:81/',
    ]) {
      open.checkUrl(new URL(url));
    }
    for (const url of [
      'http://10.1.2.4/',
      'https://192.168.0.1/',
      'http://8.8.8.8/',
      'https://8.8.8.8:81/',
    ]) {
      assert.throws(() => open.checkUrl(new URL(url)), { code: 'EE-502' }, url);
    }
    assert.throws(() => createTargetGuard(['10.0.0.0/99'], []), { code: 'EE-700' });
    assert.throws(() => createTargetGuard(['localhost'], []), { code: 'EE-700' });
  });
});

describe('a connection to a callback', () => {
  it('is not made to an address of the inside, even when the check of the URL was left out', async () => {
    const receiver = await scriptedReceiver();
    const { port } = new URL(receiver.url);
    const ports = [port, '443'];
    const sender = createSender({ guard: createTargetGuard([], ports), connectTimeoutMs: 2_000 }, 4);
    for (const host of [
      '127.0.0.1',
      '2130706433',
      '0x7f.1',
      '[::ffff:127.0.0.1]',
      '0',
      'localhost',
      'localhost.',
    ]) {
      for (const scheme of ['http', 'https']) {
        const result = await sender.post({ ...post, url: new URL(`${scheme}://${host}:${port}/`) });
        assert.equal(detailOf(result), 'refused-target', `${scheme} ${host}`);
      }
    }
    assert.equal(receiver.received.length, 0);
    sender.close();
  });

  it('is not made when a name leads to the inside, also the second time it is asked', async () => {
    const receiver = await scriptedReceiver();
    const { port } = new URL(receiver.url);
    const answers: LookupAddress[][] = [
      [{ address: '127.0.0.1', family: 4 }],
      [{ address: '::ffff:7f00:1', family: 6 }],
      [
        { address: '10.0.0.1', family: 4 },
        { address: 'fd00::1', family: 6 },
      ],
      [],
    ];
    const asked: string[] = [];
    const resolve: ResolveAll = (host, callback) => {
      asked.push(host);
      callback(null, answers[asked.length - 1] ?? []);
    };
    const sender = createSender(
      { guard: createTargetGuard([], [port], resolve), connectTimeoutMs: 2_000 },
      4,
    );
    for (const _ of answers) {
      const result = await sender.post({ ...post, url: new URL(`https://rebinding.example:${port}/`) });
      assert.equal(detailOf(result), 'refused-target');
    }
    assert.equal(asked.length, answers.length);
    assert.equal(receiver.received.length, 0);
    sender.close();
  });

  it('is given up when the address that was really connected is another one than was allowed', async () => {
    const receiver = await scriptedReceiver();
    const { port } = new URL(receiver.url);
    const guard = createTargetGuard([], [port]);
    let checks = 0;
    // A resolver that lies behind the lookup: the first answer is allowed, the connection goes elsewhere.
    const lying = {
      ...guard,
      allows: (address: string, url: URL) => {
        checks += 1;
        return guard.allows(address, url);
      },
      lookup:
        () =>
        (_host: string, options: { all?: boolean | undefined }, callback: (...args: never[]) => void) => {
          const answer = [{ address: '127.0.0.1', family: 4 }];
          (callback as (...args: unknown[]) => void)(null, options.all === true ? answer : '127.0.0.1', 4);
        },
    };
    const sender = createSender({ guard: lying as never, connectTimeoutMs: 2_000 }, 4);
    const result = await sender.post({ ...post, url: new URL(`https://public.example:${port}/`) });
    assert.deepEqual([detailOf(result), checks, receiver.received.length], ['refused-target', 1, 0]);
    sender.close();
  });

  it('to a listed network is made by address and by name, and its redirects are not followed', async () => {
    const receiver = await scriptedReceiver();
    const guard = createTargetGuard(['127.0.0.0/8'], ['443']);
    const sender = createSender({ guard, connectTimeoutMs: 2_000 }, 4);
    assert.equal(detailOf(await sender.post({ ...post, url: new URL(receiver.url) })), '200');
    const byName = new URL(receiver.url.replace('127.0.0.1', 'localhost'));
    assert.equal(detailOf(await sender.post({ ...post, url: byName })), '200');
    receiver.next(response => void response.writeHead(302, { Location: receiver.url }).end());
    assert.equal(detailOf(await sender.post({ ...post, url: new URL(receiver.url) })), '302');
    assert.equal(receiver.received.length, 3);
    sender.close();
  });

  it('keeps the beginning of an answer, however long it is', async () => {
    const receiver = await scriptedReceiver();
    const guard = createTargetGuard(['127.0.0.0/8'], ['443']);
    const sender = createSender({ guard, connectTimeoutMs: 2_000 }, 4);
    receiver.next(response => {
      response.writeHead(400);
      const more = () => {
        while (!response.destroyed && response.write('n'.repeat(65_536)));
        if (!response.destroyed) response.once('drain', more);
      };
      more();
    });
    const result = await sender.post({ ...post, url: new URL(receiver.url) });
    assert.ok(result.kind === 'answer' && result.status === 400 && result.excerpt.length === 500);
    sender.close();
  });
});
