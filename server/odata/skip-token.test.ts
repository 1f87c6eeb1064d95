import assert from 'node:assert/strict';
import { tokenCodec, type WalkToken } from './skip-token.ts';

const token: WalkToken = {
  use: 'skip',
  query: 'digest',
  after: ['9007199254740993', null, "O'Brien ü"],
  remaining: 7,
  epoch: 2,
  head: '12',
  tracking: { since: '3' },
};
const code = (error: unknown) => error instanceof Error && 'code' in error && error.code === 'EE-104';

describe('continuation tokens', () => {
  const codec = tokenCodec('a key');

  it('come back as they were sealed', () => {
    assert.deepEqual(codec.open(codec.seal(token), 'skip'), token);
  });

  it('need no encoding in a URL', () => {
    assert.match(codec.seal(token), /^[A-Za-z0-9_-]+$/);
  });

  it('are refused when any single character is altered, added or lost', () => {
    const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
    const sealed = codec.seal(token);
    for (let at = 0; at < sealed.length; at += 1) {
      const other = sealed[at] === 'A' ? 'B' : 'A';
      const altered = sealed.slice(0, at) + other + sealed.slice(at + 1);
      assert.throws(() => codec.open(altered, 'skip'), code, `at ${at}`);
    }
    // The last character of base64 may have bits that decode to nothing: in texts of every length, each counts.
    for (const head of ['1', '12', '123']) {
      const text = codec.seal({ ...token, head });
      for (const last of alphabet.replace(text.at(-1) ?? '', '')) {
        assert.throws(() => codec.open(text.slice(0, -1) + last, 'skip'), code, `${head} ${last}`);
      }
    }
    for (const wrong of [
      `${sealed}A`,
      sealed.slice(1),
      sealed.slice(0, -1),
      '',
      ' ',
      '%00',
      'A'.repeat(1_000_000),
    ]) {
      assert.throws(() => codec.open(wrong, 'skip'), code);
    }
  });

  it('are refused under another key and for another use', () => {
    assert.throws(() => tokenCodec('another key').open(codec.seal(token), 'skip'), code);
    assert.throws(() => codec.open(codec.seal(token), 'delta'), code);
  });
});
