import { testDatabase } from '../../testing/postgres.ts';
import { seededRandom } from '../../testing/seeded-random.ts';
import { buildSimulationDatabase, openSimulationBed, simulate } from '../../testing/visibility-simulation.ts';

const histories = Number(process.env.PULSEFEED_HISTORIES ?? 40);
const stepsInHistory = 120;

describe('visibility', () => {
  it('leaves every copy equal to what its consumer may see, after any history', async function () {
    this.timeout(60_000 + histories * 5_000);
    const { url, drop } = await testDatabase({ template: buildSimulationDatabase, name: 'simulation' });
    const bed = await openSimulationBed(url);
    try {
      for (let history = 0; history < histories; history += 1) {
        const random = seededRandom();
        await simulate({ bed, random, steps: stepsInHistory }).catch((error: unknown) => {
          throw new Error(`history ${history} failed; replay it with ${random.seed}`, { cause: error });
        });
      }
    } finally {
      await bed.close();
      await drop();
    }
  });
});
