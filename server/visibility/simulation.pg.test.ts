import { testDatabase } from '../../testing/postgres.ts';
import { seededRandom } from '../../testing/seeded-random.ts';
import { buildSimulationDatabase, simulate } from '../../testing/visibility-simulation.ts';

const histories = Number(process.env.PULSEFEED_HISTORIES ?? 100);
const stepsInHistory = 220;

describe('visibility', () => {
  it('leaves every copy equal to what its consumer may see, after any history', async function () {
    this.timeout(histories * 10_000);
    for (let history = 0; history < histories; history += 1) {
      const database = await testDatabase({ template: buildSimulationDatabase, name: 'simulation' });
      const random = seededRandom();
      try {
        await simulate({ url: database.url, random, steps: stepsInHistory });
      } catch (error) {
        throw new Error(`history ${history} failed; replay it with ${random.seed}`, { cause: error });
      }
      await database.drop();
    }
  });
});
