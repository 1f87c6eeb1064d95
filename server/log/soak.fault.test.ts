import assert from 'node:assert/strict';
import { describeSoak, isClean, soak } from '../../bench/soak.ts';

const seconds = Number(process.env.PULSEFEED_TORTURE_SOAK_SECONDS ?? 8);

describe('a soak', () => {
  it(`of ${seconds} s loses nothing, doubles nothing, and leaves every reader with the truth`, async function () {
    this.timeout(seconds * 1_000 + 90_000);
    const result = await soak({ seconds });
    assert.ok(isClean(result), describeSoak(result));
    // A soak that did nothing would pass as well.
    assert.ok(result.kills >= 1 && result.restarts === 1 && result.head > 10n, describeSoak(result));
  });
});
