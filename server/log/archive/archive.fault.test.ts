import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { archivedLog, mixedPulses, moveAll, moveOnce, walk } from '../../../testing/archived-log.ts';
import { compiled } from '../../../testing/compiled.ts';
import { emptyWrittenLog, writePulses } from '../../../testing/written-log.ts';
import { readEntries } from './manifest.ts';
import type { MovePoint } from './move.ts';

const kills = Number(process.env.PULSEFEED_TORTURE_ARCHIVE_KILLS ?? 3);
const points: readonly MovePoint[] = ['deleted', 'written', 'verified', 'read', 'interned'];
const count = 400;

describe('archiving that is ended in the middle', () => {
  it(`has moved each part wholly or not at all after ${kills} kill -9, beginning between writing and the commit`, async function () {
    this.timeout(30_000 + kills * 15_000);
    const program = await compiled(new URL('../../../testing/archiver-process.ts', import.meta.url));
    const log = await archivedLog();
    await emptyWrittenLog(
      log.db,
      [
        [1, 4],
        [2, 5],
      ],
      {},
    );
    await writePulses(log.db, 1n, mixedPulses(count));
    const lastTold = async (walker: number | undefined) => {
      const last = new Map<string, string>();
      for (const line of await walk(log.log, walker)) last.set(line.split(' ')[2] ?? '', line);
      return [...last.values()].sort();
    };
    const told = [await lastTold(1), await lastTold(2), await lastTold(undefined)];
    for (let kill = 0; kill < kills; kill += 1) {
      const rows = String(Math.ceil(count / (kills + 3)));
      const point = points[kill % points.length] ?? 'deleted';
      // Every point but the first kills in the second part, so that the archive moves on.
      const time = String(1 + (kill % 2));
      const child = spawn(process.execPath, [program, log.url, log.folder, rows, point, time]);
      const [, signal] = await once(child, 'exit');
      assert.equal(signal, 'SIGKILL', point);
      const entries = await readEntries(log.db, 0n, 1_000);
      const end = entries.at(-1)?.upTo ?? 0n;
      const [row] = await log.db.query<{ first: bigint; archived_to: bigint }>({
        text: 'select (select min(seq) from pulsefeed.entity_event) as first, archived_to from pulsefeed.archive',
      });
      assert.deepEqual([row?.archived_to, row?.first], [end, end + 1n]);
      assert.deepEqual([await lastTold(1), await lastTold(2), await lastTold(undefined)], told);
    }
    await moveAll(log, 50, 0);
    assert.deepEqual([await lastTold(1), await lastTold(2), await lastTold(undefined)], told);
  });

  it('leaves the log as it was when it fails at any point, and goes on afterwards', async () => {
    const log = await archivedLog();
    await emptyWrittenLog(log.db, [], {});
    await writePulses(log.db, 1n, mixedPulses(100));
    const before = await walk(log.log, undefined);
    for (const point of points) {
      await assert.rejects(
        moveOnce(log, {
          rows: 100,
          keep: 0,
          async at(reached) {
            if (reached === point) throw new Error(`ended at ${point}`);
          },
        }),
        new RegExp(`ended at ${point}`),
      );
      assert.deepEqual(await walk(log.log, undefined), before, point);
      assert.deepEqual(await readEntries(log.db, 0n, 10), [], point);
    }
    assert.equal((await moveOnce(log, { rows: 100, keep: 0 })).kind, 'archived');
  });

  it('leaves the log as it was when its session is ended before the commit', async () => {
    const log = await archivedLog();
    await emptyWrittenLog(log.db, [], {});
    await writePulses(log.db, 1n, mixedPulses(100));
    const before = await walk(log.log, undefined);
    await assert.rejects(
      moveOnce(log, {
        rows: 50,
        keep: 0,
        async at(point) {
          if (point !== 'deleted') return;
          await log.db.query({
            text: `
select pg_terminate_backend(pid, 5000) from pg_stat_activity
where datname = current_database() and state = 'idle in transaction'`,
          });
        },
      }),
    );
    assert.deepEqual(await walk(log.log, undefined), before);
    await moveAll(log, 50, 0);
  });
});
