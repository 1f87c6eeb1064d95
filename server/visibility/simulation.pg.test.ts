import { simulate, simulateMany } from '../../testing/visibility-simulation.ts';

const histories = Number(process.env.PULSEFEED_HISTORIES ?? 100);
const stepsInHistory = 120;

describe('visibility', () => {
  it('leaves every copy equal to what its consumer may see, after any history', async function () {
    this.timeout(60_000 + histories * 5_000);
    await simulateMany(histories, (bed, random) => simulate({ bed, random, steps: stepsInHistory }));
  });
});
