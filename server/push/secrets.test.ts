import assert from 'node:assert/strict';
import { createPublicKey, verify } from 'node:crypto';
import { Webhook } from 'standardwebhooks';
import { createSeal } from './seal.ts';
import { createSigner, newSigningSecret, publicKeyOf } from './signing.ts';

const key = (letter: string) => letter.repeat(32);
const body = Buffer.from('{"value":[]}');
const nowS = () => Math.floor(Date.now() / 1_000);

describe('a signature', () => {
  it('is verified by the library of Standard Webhooks, with the old secret and with the new one', () => {
    const [fresh, old] = [newSigningSecret(), newSigningSecret()];
    const timestamp = nowS();
    const signature = createSigner([fresh, old], 'hmac')('msg.1', timestamp, body);
    const headers = {
      'webhook-id': 'msg.1',
      'webhook-timestamp': String(timestamp),
      'webhook-signature': signature,
    };
    for (const { hmac } of [fresh, old])
      assert.deepEqual(new Webhook(hmac).verify(body, headers), { value: [] });
    const stranger = new Webhook(newSigningSecret().hmac);
    assert.throws(() => stranger.verify(body, headers));
    assert.throws(() => new Webhook(fresh.hmac).verify(`${body} `, headers));
  });

  it('by ed25519 is verified with the public key that is shown', () => {
    const secret = newSigningSecret();
    const signed = createSigner([secret], 'both')('msg.1', 1_900_000_000, body);
    const [hmac = '', asymmetric = ''] = signed.split(' ');
    assert.match(hmac, /^v1,/);
    const raw = Buffer.from(publicKeyOf(secret).slice('whpk_'.length), 'base64');
    const key = createPublicKey({
      key: { kty: 'OKP', crv: 'Ed25519', x: raw.toString('base64url') },
      format: 'jwk',
    });
    const text = Buffer.from(`msg.1.1900000000.${body}`);
    assert.ok(verify(null, text, key, Buffer.from(asymmetric.slice('v1a,'.length), 'base64')));
  });
});

describe('a sealed secret', () => {
  it('opens with its key and for its owner alone', () => {
    const seal = createSeal(key('a'));
    const sealed = seal.seal('sub_1', { token: 'geheim' });
    assert.deepEqual(seal.open('sub_1', sealed), { token: 'geheim' });
    assert.ok(!sealed.includes('geheim'));
    assert.throws(() => seal.open('sub_2', sealed), { code: 'EE-501' });
    assert.throws(() => createSeal(key('b')).open('sub_1', sealed), { code: 'EE-501' });
    const bent = Buffer.from(sealed);
    bent[bent.length - 1] = (bent.at(-1) ?? 0) ^ 1;
    assert.throws(() => seal.open('sub_1', bent), { code: 'EE-501' });
    assert.notDeepEqual(seal.seal('sub_1', 1), seal.seal('sub_1', 1), 'no two are alike');
  });

  it('still opens after the key was replaced, while the old one is named behind the new', () => {
    const sealed = createSeal(key('a')).seal('x', 1);
    const both = createSeal(`${key('b')},${key('a')}`);
    assert.equal(both.open('x', sealed), 1);
    assert.equal(createSeal(key('b')).open('x', both.seal('x', 2)), 2);
    assert.throws(() => createSeal('short'), { code: 'EE-700' });
  });
});
