import assert from 'node:assert/strict';
import { serveFeeds } from '../testing/served-feeds.ts';
import { dense, openEpochByHand } from './log/index.ts';

describe('a question from inside a gap', () => {
  it('is answered 410 however its filter spells the number, and one for single numbers is not', async () => {
    const served = await serveFeeds();
    await served.write(`insert into property values ('p1', null, 1, 1), ('p2', null, 1, 1)`);
    await served.number();
    const { token } = await served.consumer('c', ['IDX']);
    await openEpochByHand(served.runtime.db, dense);
    const ask = async (filter: string) => {
      const url = `${served.urls[0]}/EntityEvent?$filter=${encodeURIComponent(filter)}`;
      const answer = await fetch(url, { headers: { Authorization: `Bearer ${token}` } });
      await answer.text();
      return answer.status;
    };
    for (const filter of [
      'EntityEventSequence gt 100',
      '100 lt EntityEventSequence',
      'not (EntityEventSequence le 100)',
      'EntityEventSequence gt 100.0',
      "EntityEventSequence gt 100 and ResourceName eq 'Property'",
      'EntityEventSequence gt 100 or EntityEventSequence gt 200',
    ]) {
      assert.equal(await ask(filter), 410, filter);
    }
    for (const filter of [
      'EntityEventSequence gt 2',
      '2 lt EntityEventSequence',
      'EntityEventSequence eq 100',
      '100 eq EntityEventSequence',
      'EntityEventSequence eq 100 or EntityEventSequence eq 101',
    ]) {
      assert.equal(await ask(filter), 200, filter);
    }
  });
});
