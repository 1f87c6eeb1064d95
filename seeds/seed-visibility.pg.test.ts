import assert from 'node:assert/strict';
import { dense } from '../server/log/index.ts';
import type { FeedsConfig } from '../server/visibility/index.ts';
import { resources } from '../testing/simulated-provider.ts';
import { type VisibilityFixture, visibilityFixture } from '../testing/visibility-fixture.ts';
import { type SeedReport, seed } from './index.ts';

const idx: FeedsConfig = { IDX: { Property: 'a eq 1', Media: { inherit: 'Property' } } };
const batchSize = 100;

/** Seeds the fixture's tables. */
function seedFixture(fixture: VisibilityFixture, chunkSize: number): Promise<SeedReport> {
  const { db, log, tables, rules } = fixture;
  const sequencer = () => log.sequence({ loadSources: () => rules.load(), numbering: dense, batchSize });
  return seed({ db, log, tables, config: { resources }, sequencer }, { chunkSize });
}

/** Runs SQL of the provider as if capture had not been there. */
async function writeUncaptured(fixture: VisibilityFixture, sql: string): Promise<void> {
  await fixture.number();
  await fixture.write(`${sql} delete from pulsefeed.record_change where xid = pg_current_xact_id()`);
}

const listing = (key: string, a: number) => `insert into property values ('${key}', 'O0', ${a}, 1);`;
const photos = (count: number, parent: string) =>
  `insert into media select 'M${parent}-' || lpad(n::text, 3, '0'), '${parent}', 1, 1 from generate_series(1, ${count}) n;`;

describe('seeding under rules of visibility', () => {
  it('gives a number only to records that somebody sees, children by their stored parents', async () => {
    const fixture = await visibilityFixture(idx);
    await writeUncaptured(
      fixture,
      `${listing('P1', 1)} ${listing('P2', 0)} ${photos(2, 'P1')} ${photos(2, 'P2')}`,
    );
    const report = await seedFixture(fixture, 2);
    const reader = await fixture.consumer('reader', ['IDX']);
    assert.deepEqual(await reader.pulses(), ['P1', 'MP1-001', 'MP1-002']);
    assert.deepEqual([report.seeded, report.passedOver], [3, 3]);
    // The hidden ones are known to the log all the same: they are told when they are shown, and not seeded again.
    assert.equal((await seedFixture(fixture, 2)).seeded, 0);
    await fixture.write(`update property set a = 1 where "ListingKey" = 'P2'`);
    await fixture.number();
    assert.deepEqual((await reader.pulses()).slice(3), ['P2', 'MP2-001', 'MP2-002']);
  });

  it('shows photos that were numbered before their listing, behind it', async () => {
    const fixture = await visibilityFixture(idx);
    await writeUncaptured(fixture, listing('P1', 1));
    await fixture.write(photos(3, 'P1'));
    await fixture.number();
    const reader = await fixture.consumer('reader', ['IDX']);
    assert.deepEqual(await reader.pulses(), []);
    await writeUncaptured(fixture, listing('P2', 1));
    await seedFixture(fixture, 50);
    assert.deepEqual(await reader.pulses(), ['P1', 'P2', 'MP1-001', 'MP1-002', 'MP1-003']);
    assert.equal(await reader.sees('MP1-003'), true);
  });

  it('does so also when they are more than a step may take', async () => {
    const fixture = await visibilityFixture(idx);
    await writeUncaptured(fixture, listing('P1', 1));
    await fixture.write(photos(250, 'P1'));
    await fixture.number();
    const reader = await fixture.consumer('reader', ['IDX']);
    await writeUncaptured(fixture, `${listing('P2', 1)} ${photos(2, 'P2')}`);
    const report = await seedFixture(fixture, 50);
    assert.equal(report.finished, true);
    const pulses = await reader.pulses();
    assert.equal(pulses.length, 254);
    assert.equal(new Set(pulses).size, 254);
    assert.deepEqual(pulses.slice(0, 2), ['P1', 'P2']);
    assert.equal(await reader.sees('MP1-250'), true);
  });
});
