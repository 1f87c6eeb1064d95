import assert from 'node:assert/strict';
import { parsePreferences } from './preferences.ts';

describe('preferences', () => {
  it('reads both spellings of maxpagesize, the one without prefix first', () => {
    assert.equal(parsePreferences('odata.maxpagesize=5').maxPageSize, 5);
    assert.equal(parsePreferences('maxpagesize=7').maxPageSize, 7);
    assert.equal(parsePreferences('odata.maxpagesize=5, maxpagesize=7').maxPageSize, 7);
    assert.equal(parsePreferences('MaxPageSize="3"').maxPageSize, 3);
  });

  it('ignores sizes that are none, and what it does not know', () => {
    for (const value of ['0', '-1', 'abc', '1.5', '', '99999999999999']) {
      assert.equal(parsePreferences(`maxpagesize=${value}`).maxPageSize, undefined, value);
    }
    assert.deepEqual(
      parsePreferences('respond-async, handling=lenient, x="a,b";c=d'),
      parsePreferences(undefined),
    );
  });

  it('counts the first of a preference given twice', () => {
    assert.equal(parsePreferences('maxpagesize=1,maxpagesize=2').maxPageSize, 1);
  });

  it('reads the others', () => {
    const read = parsePreferences(
      'omit-values=nulls, odata.track-changes, odata.continue-on-error=false, wait=10',
    );
    assert.equal(read.omitNulls, true);
    assert.equal(read.trackChanges, true);
    assert.equal(read.continueOnError, false);
    assert.equal(read.wait, 10);
    assert.equal(parsePreferences('continue-on-error').continueOnError, true);
  });

  it('includes annotations by the most specific pattern that fits', () => {
    const includes = (patterns: string) =>
      parsePreferences(`include-annotations="${patterns}"`).includeAnnotations;
    assert.equal(includes('*'), true);
    assert.equal(includes('*,-pulsefeed.*'), false);
    assert.equal(includes('-*,pulsefeed.*'), true);
    assert.equal(includes('display.*'), false);
  });
});
