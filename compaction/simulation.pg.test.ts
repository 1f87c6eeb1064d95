import { openLog } from '../server/log/index.ts';
import { testDatabase } from '../testing/postgres.ts';
import { seededRandom } from '../testing/seeded-random.ts';
import { buildSimulationDatabase, simulate } from '../testing/visibility-simulation.ts';
import { toldAsBefore } from './verify.ts';

const histories = Number(process.env.PULSEFEED_TORTURE_COMPACTION_HISTORIES ?? 3);
const stepsInHistory = 220;

describe('visibility under compaction', () => {
  it('leaves every copy equal to what its consumer may see, after any history', async function () {
    this.timeout(histories * 20_000);
    for (let history = 0; history < histories; history += 1) {
      const database = await testDatabase({ template: buildSimulationDatabase, name: 'simulation' });
      const random = seededRandom();
      // Compaction draws from a sequence of its own, so that the history is the one that its seed gives without it.
      const own = seededRandom(Number(random.seed.split('=')[1]) ^ 0x5bd1e995);
      try {
        await simulate({
          url: database.url,
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
      } catch (error) {
        throw new Error(`history ${history} failed; replay it with ${random.seed}`, { cause: error });
      }
      await database.drop();
    }
  });
});
