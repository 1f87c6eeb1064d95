import { Archive, archiveStep, openLog, openStore, retireFromStart } from '../server/log/index.ts';
import { type SeededRandom, seededRandom } from '../testing/seeded-random.ts';
import { temporaryFolder } from '../testing/temporary-folder.ts';
import { type SimulationBed, simulate, simulateMany } from '../testing/visibility-simulation.ts';
import { verifyArchive } from './archive-verify.ts';
import { toldAsBefore, verify } from './verify.ts';

const histories = Number(process.env.PULSEFEED_TORTURE_ARCHIVE_HISTORIES ?? 1);
const stepsInHistory = 160;

describe('visibility while the log is archived', () => {
  it('leaves every copy equal to what its consumer may see, after any history', async function () {
    this.timeout(60_000 + histories * 20_000);
    await simulateMany(histories, archivedHistory);
  });
});

async function archivedHistory(bed: SimulationBed, random: SeededRandom): Promise<void> {
  await retireFromStart(bed.db);
  const { path, remove } = await temporaryFolder('archive');
  const archive = new Archive(openStore(path));
  // Archiving and compaction draw from a sequence of their own: the history is the one that its seed gives without them.
  const own = seededRandom(Number(random.seed.split('=')[1]) ^ 0x2545f491);
  await simulate({
    bed,
    random,
    steps: stepsInHistory,
    archive: path,
    async between(db) {
      const turn = own.below(6);
      if (turn < 3) return;
      if (turn === 3) {
        const lag = { events: BigInt(own.below(3) === 0 ? own.below(20) : 0) };
        await openLog(db).retire({ lag, limit: 1 + own.below(30), check: toldAsBefore });
        return;
      }
      // The order of a batch is looked at in the table when the last of its steps is done.
      const [open] = await db.query({
        text: 'select from pulsefeed.log_head where batch_stage is not null',
      });
      if (open !== undefined) return;
      // Often all of it: a dozen records are pulsed so often that few would else have left the table when it matters.
      const all = own.below(3) > 0;
      const window = { events: all ? 0n : BigInt(own.below(12)) };
      const rows = all ? 10_000 : 1 + own.below(12);
      await archiveStep(db, archive, { window, rows, wholeParts: !all && own.below(2) === 0 });
    },
  });
  const { faults } = await verifyArchive(bed.db, archive);
  if (faults.length > 0) throw new Error(faults.join('; '));
  const { db } = bed;
  await verify({ ...{ db, log: openLog(db), archive }, lag: { events: 0n }, limit: 1_000 });
  await remove();
}
