import assert from 'node:assert/strict';
import type { Due } from './due-sql.ts';
import { Patience, workerOf } from './share-out.ts';
import { Slots } from './slots.ts';

const ids = Array.from({ length: 2_000 }, (_, n) => `sub_${n}`);
const shares = (alive: Parameters<typeof workerOf>[1]) => {
  const owners = new Map<bigint | undefined, number>();
  for (const id of ids) owners.set(workerOf(id, alive), (owners.get(workerOf(id, alive)) ?? 0) + 1);
  return owners;
};

describe('the sharing out of subscriptions', () => {
  it('gives each worker its share by its slots, and moves only what a worker leaves behind', () => {
    const three = [1n, 2n, 3n].map(id => ({ id, slots: 64 }));
    for (const share of shares(three).values()) assert.ok(share > 550 && share < 790, `${share}`);
    const weighted =
      shares([
        { id: 1n, slots: 30 },
        { id: 2n, slots: 10 },
      ]).get(1n) ?? 0;
    assert.ok(weighted > 1_400 && weighted < 1_600, `${weighted}`);
    const two = three.slice(0, 2);
    for (const id of ids) {
      const before = workerOf(id, three);
      if (before !== 3n) assert.equal(workerOf(id, two), before);
    }
    assert.equal(workerOf('sub_1', []), undefined);
  });

  it("takes another's only after it has waited in vain", () => {
    const patience = new Patience(100);
    const due = (id: string, cursor: bigint) => ({ id, cursor, attempt: 0, redrive: false }) as Due;
    assert.deepEqual(patience.waited([due('a', 1n), due('b', 1n)], 0), []);
    assert.deepEqual(
      patience.waited([due('a', 1n), due('b', 2n)], 100).map(({ id }) => id),
      ['a'],
      'b has moved',
    );
    patience.forget('a');
    assert.deepEqual(patience.waited([due('a', 1n)], 150), []);
  });
});

describe('the slots of a worker', () => {
  it('are capped in all, for each host, by its rate, and by half for those in trouble', () => {
    let now = 0;
    const slots = new Slots({ slots: 4, perHost: 2, hostPerMinute: 0 }, () => now);
    const fine = (host: string) => ({ host, troubled: false });
    const troubled = (host: string) => ({ host, troubled: true });
    assert.deepEqual(
      [slots.take(fine('a')), slots.take(fine('a')), slots.take(fine('a'))],
      [true, true, false],
    );
    slots.give(fine('a'));
    assert.deepEqual(
      ['b', 'c', 'd'].map(host => slots.take(troubled(host))),
      [true, true, false],
    );
    assert.deepEqual([slots.take(fine('d')), slots.take(fine('e')), slots.free], [true, false, 0]);
    const paced = new Slots({ slots: 100, perHost: 100, hostPerMinute: 60 }, () => now);
    now = 10_000;
    // What was not used in the last second may be caught up with.
    const taken = [paced.take(fine('a')), paced.take(fine('a')), paced.take(fine('a'))];
    assert.deepEqual(taken, [true, true, false]);
    paced.give(fine('a'));
    assert.equal(paced.take(fine('b')), true);
    now += 1_000;
    assert.equal(paced.take(fine('a')), true);
  });
});
