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
    const sealed = codec.seal(token);
    for (let at = 0; at < sealed.length; at += 1) {
      const other = sealed[at] === 'A' ? 'B' : 'A';
      assert.throws(
        () => codec.open(sealed.slice(0, at) + other + sealed.slice(at + 1), 'skip'),
        code,
        `at ${at}`,
      );
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
