import assert from 'node:assert/strict';
import { parseTombstones, tombstonesNotice } from './index.ts';

describe('the setting tombstones', () => {
  it('is a time, or for ever', () => {
    assert.equal(parseTombstones('forever'), undefined);
    assert.deepEqual(['30s', '5m', '2h', '90d'].map(parseTombstones), [30, 300, 7_200, 7_776_000]);
  });

  it('is explained to who starts a server', () => {
    assert.match(tombstonesNotice('90d'), /90d.*nextLink only.*410/);
  });
});
