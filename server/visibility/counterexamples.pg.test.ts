import assert from 'node:assert/strict';
import { openSession } from '../../testing/gates.ts';
import { gateAt } from '../../testing/log-database.ts';
import { visibilityFixture } from '../../testing/visibility-fixture.ts';
import { PulsefeedError } from '../base/errors.ts';
import { changeConsumer, explain, type FeedsConfig } from './index.ts';

const office = (key: string, a = 1) => `insert into office values ('${key}', ${a}, 1);`;
const listing = (key: string, a = 1, parent = 'O0') =>
  `insert into property values ('${key}', '${parent}', ${a}, 1);`;
const photo = (key: string, parent = 'P0', a = 1) =>
  `insert into media values ('${key}', '${parent}', ${a}, 1);`;

const idx: FeedsConfig = { IDX: { Property: 'a eq 1', Media: { inherit: 'Property' } } };
const code = (expected: string) => (error: unknown) =>
  error instanceof PulsefeedError && error.code === expected;

describe('counterexamples to simpler rules of visibility', () => {
  it('A: a record that is shown and hidden again before it is numbered is served to nobody between', async () => {
    const fixture = await visibilityFixture(idx);
    await fixture.write(listing('P0'));
    await fixture.number();
    await fixture.write(`update property set a = 0`);
    await fixture.number();
    const reader = await fixture.consumer('reader', ['IDX']);
    // 1. T1 shows the listing; it is not numbered yet.
    await fixture.write(`update property set a = 1`);
    // 2. The reader, late at the old removal pulse, fetches.
    assert.equal(await reader.sees('P0'), false);
    // 3. T2 hides it; before and after are the same, so nobody is told.
    await fixture.write(`update property set a = 0`);
    const { head } = await fixture.log.head();
    await fixture.number();
    assert.deepEqual(await reader.pulses(head), []);
    assert.equal(await reader.sees('P0'), false);
  });

  it('B: a photo is served by its stored parent, so a listing hidden for a moment does not take it away', async () => {
    const fixture = await visibilityFixture(idx);
    await fixture.write(`${listing('P0')} ${photo('M0')}`);
    await fixture.number();
    const reader = await fixture.consumer('reader', ['IDX']);
    // 1. T1 hides the listing. 2. The reader fetches the photo for an older pulse. 3. T2 shows the listing.
    await fixture.write(`update property set a = 0`);
    assert.equal(await reader.sees('M0'), true);
    await fixture.write(`update property set a = 1`);
    const { head } = await fixture.log.head();
    await fixture.number();
    assert.deepEqual(await reader.pulses(head), ['P0']);
    assert.equal(await reader.sees('M0'), true);
  });

  it('C: a second rule edit waits until every record was numbered under the first', async () => {
    const fixture = await visibilityFixture(idx);
    await fixture.write(listing('P0'));
    await fixture.number();
    const reader = await fixture.consumer('reader', ['IDX']);
    const { head } = await fixture.log.head();
    // 1. Edit 1 hides the listing; 2. the walk has queued it, nothing is numbered; 3. the reader meets 404.
    await fixture.apply({ IDX: { Property: 'a eq 2', Media: { inherit: 'Property' } } });
    await assert.rejects(fixture.apply(idx), code('EE-204'));
    await fixture.walk();
    assert.equal(await reader.sees('P0'), false);
    // 4. Edit 2 shows it again: it may not overtake, or the reader would never hear of it.
    await assert.rejects(fixture.apply(idx), code('EE-204'));
    await fixture.number();
    await fixture.apply(idx);
    await fixture.settle();
    assert.equal(await reader.sees('P0'), true);
    assert.deepEqual(await reader.pulses(head), ['P0', 'P0']);
  });

  it('D: leaving one feed and entering another in one change keeps the order in both', async () => {
    const fixture = await visibilityFixture({
      IDX: { Property: 'a eq 1', Media: { inherit: 'Property' } },
      VOW: { Property: 'a eq 2', Media: { inherit: 'Property' } },
    });
    await fixture.write(`${listing('P0')} ${photo('M0')}`);
    await fixture.number();
    const { head } = await fixture.log.head();
    await fixture.write(`update property set a = 2; update media set v = 2`);
    await fixture.number();
    assert.deepEqual(await (await fixture.consumer('idx', ['IDX'])).pulses(head), ['M0', 'P0']);
    assert.deepEqual(await (await fixture.consumer('vow', ['VOW'])).pulses(head), ['P0', 'M0']);
  });

  it('E: a parent touched by a later transaction of the batch still precedes its child', async () => {
    const fixture = await visibilityFixture(idx);
    await fixture.write(`${listing('P0')} ${photo('M0')}`);
    await fixture.write(`update property set v = 2`);
    await fixture.number();
    assert.deepEqual(await (await fixture.consumer('idx', ['IDX'])).pulses(), ['P0', 'M0']);
  });

  it('F: a transaction larger than a step is not cut: the child that was written first follows its parent', async () => {
    const fixture = await visibilityFixture({ All: { '*': true } }, 2);
    await fixture.write(`${photo('M0')} ${photo('M1')} ${photo('M2')} ${listing('P0')} ${office('O0')}`);
    await fixture.number();
    const all = await fixture.consumer('all', ['All']);
    assert.deepEqual(await all.pulses(), ['O0', 'P0', 'M0', 'M1', 'M2']);
  });
});

describe('a photo inserted while its listing turns active in another transaction', () => {
  for (const first of ['photo', 'listing'] as const) {
    it(`is told to the feed after its listing when the ${first} commits first`, async () => {
      const fixture = await visibilityFixture(idx);
      await fixture.write(listing('P0', 0));
      await fixture.number();
      const reader = await fixture.consumer('reader', ['IDX']);
      const turning = await openSession(fixture.url, 'turning');
      const inserting = await openSession(fixture.url, 'inserting');
      await turning.begin();
      await turning.run(`update property set a = 1`);
      await inserting.begin();
      await inserting.run(photo('M0'));
      // Numbered between the commits, so that one of them is seen without the other.
      await (first === 'photo' ? inserting : turning).commit();
      await fixture.number();
      assert.equal(await reader.sees('M0'), false);
      await (first === 'photo' ? turning : inserting).commit();
      await fixture.number();
      assert.equal(await reader.sees('M0'), true);
      assert.deepEqual(await reader.pulses(), ['P0', 'M0']);
      await turning.close();
      await inserting.close();
    });
  }
});

describe('children of a parent that goes', () => {
  it('are found by the parent stored with them, though they move to another in the middle of the step', async () => {
    const fixture = await visibilityFixture(idx);
    await fixture.write(`${listing('P0')} ${listing('P1')} ${photo('M0')}`);
    await fixture.number();
    const reader = await fixture.consumer('reader', ['IDX']);
    const { head } = await fixture.log.head();
    await fixture.write(`update property set a = 0 where "ListingKey" = 'P0'`);
    // 1. The step has looked at the listing. 2. The photo moves. 3. The step goes on to the listing's children.
    const gate = await gateAt(fixture, 'update', 'pulsefeed.record_state');
    const numbered = fixture.number();
    await gate.reached();
    await fixture.write(`update media set "ResourceRecordKey" = 'P1'`);
    await gate.open();
    await numbered;
    assert.deepEqual(await reader.pulses(head), ['M0', 'P0', 'M0']);
    assert.equal(await reader.sees('M0'), true);
  });
});

const two: FeedsConfig = {
  A: { Property: 'a in (1, 3)', Media: { inherit: 'Property' } },
  B: { Property: 'a in (2, 3)', Media: { inherit: 'Property' } },
};

describe('grants and revocations', () => {
  it('tell a consumer of a record that left the lost feed long ago and that it may still hold', async () => {
    const fixture = await visibilityFixture(two);
    await fixture.write(listing('P0'));
    await fixture.number();
    const reader = await fixture.consumer('reader', ['A']);
    const { head } = await fixture.log.head();
    // 1. The listing leaves the feed; the reader has not read that. 2. The feed is taken from it.
    await fixture.write(`update property set a = 0`);
    await fixture.number();
    await changeConsumer(fixture.db, 'reader', { grants: ['B'] });
    await fixture.settle();
    assert.deepEqual(await reader.pulses(head), ['P0']);
    assert.equal(await reader.sees('P0'), false);
  });

  it('tell of a record that a feed still held shows, when the consumer knew it only by the feed taken away', async () => {
    const fixture = await visibilityFixture(two);
    await fixture.write(`${listing('P0', 2)} ${photo('M0')}`);
    await fixture.number();
    const reader = await fixture.consumer('reader', ['A']);
    const { head } = await fixture.log.head();
    // 1. With its listing the photo, in B before, enters A: that pulse is for A alone, and the reader is behind.
    await fixture.write(`update property set a = 3`);
    await fixture.number();
    // 2. It is granted B, which need not tell of what A shows. 3. A is taken away, and with it the pulse.
    await changeConsumer(fixture.db, 'reader', { grants: ['A', 'B'] });
    await fixture.settle();
    await changeConsumer(fixture.db, 'reader', { grants: ['B'] });
    await fixture.settle();
    assert.ok((await reader.pulses(head)).includes('M0'));
    assert.equal(await reader.sees('M0'), true);
  });

  it('tell nobody else', async () => {
    const fixture = await visibilityFixture(two);
    await fixture.write(listing('P0', 2));
    await fixture.number();
    const other = await fixture.consumer('other', ['A', 'B']);
    await fixture.consumer('reader', ['A']);
    const { head } = await fixture.log.head();
    await changeConsumer(fixture.db, 'reader', { grants: ['A', 'B'] });
    await fixture.settle();
    assert.deepEqual(await other.pulses(head), []);
  });

  it('tell of a photo that enters the feed taken away before the walk has come to it', async () => {
    const fixture = await visibilityFixture(two);
    await fixture.write(`${listing('P0', 2)} ${photo('M0')}`);
    await fixture.number();
    const reader = await fixture.consumer('reader', ['A']);
    const { head } = await fixture.log.head();
    // 1. B for A. 2. The listing is now in both feeds, the photo unchanged: its pulse is for A alone.
    await changeConsumer(fixture.db, 'reader', { grants: ['B'] });
    await fixture.write(`update property set a = 3`);
    await fixture.number();
    // 3. The walk meets the photo in A and B.
    await fixture.settle();
    assert.ok((await reader.pulses(head)).includes('M0'));
    assert.equal(await reader.sees('M0'), true);
  });
});

describe('explain', () => {
  it('does not call a record visible whose own rule fails on the row as it is now', async () => {
    const fixture = await visibilityFixture(idx);
    await fixture.write(listing('P0'));
    await fixture.number();
    await fixture.consumer('reader', ['IDX']);
    const said = async () => explain(fixture.db, await fixture.rules.refresh(), 'reader', 'Property', 'P0');
    assert.equal((await said()).visible, true);
    await fixture.write(`update property set a = 0`);
    assert.equal((await said()).visible, false);
  });
});

describe('rules that cannot be kept', () => {
  it('are refused: a feed per consumer value in which a resource does not say whose a record is', async () => {
    await assert.rejects(
      visibilityFixture({ Own: { Property: 'ListOfficeKey eq @consumer.OfficeKey', Office: true } }),
      code('EE-203'),
    );
  });

  it('are refused: a feed that consumers hold under one attribute and that now depends on another', async () => {
    const fixture = await visibilityFixture({ Own: { Property: 'ListOfficeKey eq @consumer.OfficeKey' } });
    await assert.rejects(fixture.apply({ Own: { Property: true } }), code('EE-203'));
    await assert.rejects(
      fixture.apply({ Own: { Property: 'ListOfficeKey eq @consumer.Other' } }),
      code('EE-203'),
    );
  });
});
