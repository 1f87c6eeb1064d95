import { openLog, retireFromStart } from '../server/log/index.ts';
import { type SeededRandom, seededRandom } from '../testing/seeded-random.ts';
import { type SimulationBed, simulate, simulateMany } from '../testing/visibility-simulation.ts';
import { toldAsBefore } from './verify.ts';

const histories = Number(process.env.PULSEFEED_TORTURE_COMPACTION_HISTORIES ?? 20);
const stepsInHistory = 160;

describe('visibility under compaction', () => {
  it('leaves every copy equal to what its consumer may see, after any history', async function () {
    this.timeout(60_000 + histories * 20_000);
    await simulateMany(histories, compactedHistory);
  });
});

async function compactedHistory(bed: SimulationBed, random: SeededRandom): Promise<void> {
  await retireFromStart(bed.db);
  // Compaction draws from a sequence of its own: the history is the one that its seed gives without it.
  const own = seededRandom(Number(random.seed.split('=')[1]) ^ 0x5bd1e995);
  await simulate({
    bed,
    random,
    steps: stepsInHistory,
    async between(db) {
      if (own.below(3) > 0) return;
      await openLog(db).retire({
        lag: { events: BigInt(own.below(4) === 0 ? own.below(20) : 0) },
        limit: 1 + own.below(30),
        check: toldAsBefore,
      });
    },
  });
}
