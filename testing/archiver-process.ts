import { pathToFileURL } from 'node:url';
import { openPostgres } from '../server/base/db/postgres.ts';
import { Archive, archiveStep, type MovePoint, openStore } from '../server/log/index.ts';

/**
 * A process that archives part after part and kills itself, as `kill -9` would, when it comes to a point for the given
 * time: `archiver-process URL FOLDER ROWS POINT TIME`. Exits 0 when it found nothing more to do.
 */
async function run([url = '', folder = '', rows = '', point = '', time = '']: string[]): Promise<void> {
  const db = openPostgres({ url, poolSize: 2, applicationName: 'archiver', statementTimeoutMs: 0 });
  const archive = new Archive(openStore(folder));
  let times = 0;
  const at = async (reached: MovePoint) => {
    times += reached === point ? 1 : 0;
    if (times === Number(time)) process.kill(process.pid, 'SIGKILL');
  };
  for (;;) {
    const outcome = await archiveStep(db, archive, {
      window: { events: 0n },
      rows: Number(rows),
      wholeParts: false,
      at,
    });
    if (outcome.kind === 'idle') break;
  }
  await db.close();
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  run(process.argv.slice(2)).catch(() => process.exit(1));
}
