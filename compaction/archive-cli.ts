import type { Command } from 'commander';
import type { Config } from '../server/base/config/index.ts';
import type { Db } from '../server/base/db/index.ts';
import { PulsefeedError } from '../server/base/errors.ts';
import { type Archive, archivedTo, archiveStep, openLog, readEntries } from '../server/log/index.ts';
import { markFailed, printJson, withDatabase } from '../server/operate/verb.ts';
import { openArchive } from '../server/runtime.ts';
import { addSettingFlags } from '../server/setting-flags.ts';
import { heldForPush, partRows } from './archive-loop.ts';
import { verifyArchive } from './archive-verify.ts';
import type { CompactContext } from './cli.ts';
import { parseLag } from './lag.ts';
import { compactionProgress } from './progress.ts';

interface Flags {
  readonly json?: true;
  readonly format?: string;
  readonly to?: string;
}

/** Adds `archive run|status|verify|export`. Exit codes: 0 done, 1 failed or a fault was found, 2 wrong usage. */
export function registerArchive(program: Command, context: CompactContext): void {
  const group = program.command('archive').description('old pulses in segment files, beside the database');
  const verb = (name: string, description: string) =>
    addSettingFlags(group.command(name).description(description), [
      'databaseUrl',
      'dataDir',
      'archive',
      'archiveWindow',
    ]).option('--json', 'print JSON');
  type Work = (config: Config, db: Db, archive: Archive, flags: Flags) => Promise<void>;
  const act = (work: Work) => (flags: Flags, command: Command) =>
    withDatabase(context, command, (config, db) => work(config, db, openArchive(config), flags));
  verb('run', 'move what is older than the window, also a last part that is small').action(
    act((config, db, archive, flags) => run(context, config, db, archive, flags)),
  );
  verb('status', 'say what is archived, and what holds the rest back').action(
    act((config, db, archive, flags) => status(context, config, db, archive, flags)),
  );
  verb('verify', 'read every segment and check that all archived numbers can be served').action(
    act((_config, db, archive, flags) => prove(context, db, archive, flags)),
  );
  verb('export', 'write the archive as Parquet files, for analytics')
    .requiredOption('--format <format>', 'parquet')
    .requiredOption('--to <folder>', 'where the files go')
    .action(act((_config, db, archive, flags) => exportAll(context, db, archive, flags)));
}

async function run(
  context: CompactContext,
  { settings }: Config,
  db: Db,
  archive: Archive,
  { json }: Flags,
): Promise<void> {
  const window = parseLag(settings.archiveWindow);
  if (window === undefined)
    throw new PulsefeedError(
      'EE-700',
      'Archiving is off; say what stays with --archive-window, such as 90d.',
    );
  const progress = compactionProgress('archive run');
  const stopped = new AbortController();
  void context.untilSignal().then(() => stopped.abort());
  const done = { segments: 0, examined: 0, rows: 0, bytes: 0 };
  const { head } = await openLog(db).head();
  try {
    for (let waits = 0; !stopped.signal.aborted; ) {
      const options = { window, rows: partRows, wholeParts: false, notAbove: heldForPush };
      const outcome = await archiveStep(db, archive, options);
      if (outcome.kind === 'idle') break;
      if (outcome.kind === 'standby') {
        // Compaction holds its lock for seconds at most; a part that it changed is read anew.
        waits += 1;
        if (waits > mostWaits)
          throw new PulsefeedError('EE-600', 'Compaction does not let go of the log; try again later.');
        await new Promise(resolve => setTimeout(resolve, waitMs));
        continue;
      }
      waits = 0;
      done.segments += outcome.rows > 0 ? 1 : 0;
      done.examined += outcome.examined;
      done.rows += outcome.rows;
      done.bytes += outcome.bytes;
      progress.tell(outcome.upTo, head, done.examined - done.rows);
    }
  } finally {
    progress.end();
  }
  const end = await archivedTo(db);
  if (json === true) return printJson(context, { ...done, archivedTo: String(end) });
  context.out(
    done.examined === 0
      ? 'There was nothing to do.\n'
      : `Archived up to ${end}: ${done.examined} pulses left the table, ${done.rows} are in ${done.segments} new segments ` +
          `of ${done.bytes} bytes; the others were covered by later ones.\n`,
  );
}

const mostWaits = 300;
const waitMs = 200;

async function status(
  context: CompactContext,
  { settings }: Config,
  db: Db,
  archive: Archive,
  { json }: Flags,
): Promise<void> {
  const [row] = await db.query<{ segments: bigint; rows: bigint; bytes: bigint; head: bigint; hot: bigint }>({
    text: `
select count(file) as segments, coalesce(sum(rows), 0)::bigint as rows, coalesce(sum(bytes), 0)::bigint as bytes,
  (select last_seq from pulsefeed.log_head) as head, (select count(*) from pulsefeed.entity_event) as hot
from pulsefeed.archive_segment`,
  });
  const end = await archivedTo(db);
  const held = await heldForPush(db);
  const first = (await readEntries(db, 0n, 1))[0];
  const found = {
    archive: archive.store?.location ?? null,
    window: settings.archiveWindow,
    archivedTo: String(end),
    head: String(row?.head ?? 0n),
    segments: Number(row?.segments ?? 0n),
    rows: Number(row?.rows ?? 0n),
    bytes: Number(row?.bytes ?? 0n),
    rowsInDatabase: Number(row?.hot ?? 0n),
    since: first?.writtenAt.toISOString() ?? null,
    heldForPush: held === undefined ? null : String(held),
  };
  if (json === true) return printJson(context, found);
  context.out(
    `${found.archive ?? 'No setting `archive`'}: numbers up to ${found.archivedTo} of ${found.head} are archived, ` +
      `${found.rows} pulses in ${found.segments} segments of ${found.bytes} bytes. ${found.rowsInDatabase} pulses are in ` +
      `the database; what is within ${found.window} stays there.\n`,
  );
  if (held !== undefined)
    context.out(`Webhooks hold back what is above ${held}: an active subscription or a dead letter.\n`);
}

async function prove(context: CompactContext, db: Db, archive: Archive, { json }: Flags): Promise<void> {
  const progress = compactionProgress('archive verify');
  const found = await verifyArchive(db, archive, (upTo, end) => progress.tell(upTo, end, 0)).finally(() =>
    progress.end(),
  );
  if (found.faults.length > 0) markFailed();
  if (json === true) return printJson(context, found);
  for (const fault of found.faults) context.out(`${fault}\n`);
  if (found.faults.length === 0)
    context.out(
      `All ${found.segments} segments with ${found.rows} pulses are as they were written; every archived number can be served.\n`,
    );
  if (found.strangers.length > 0)
    context.out(
      `The archive has ${found.strangers.length} files that this database does not name, such as ${found.strangers[0]}. They ` +
        'are of a run that was ended, or of another database that archives here; only in the first case delete them.\n',
    );
}

async function exportAll(
  context: CompactContext,
  db: Db,
  archive: Archive,
  { format, to = '', json }: Flags,
): Promise<void> {
  if (format !== 'parquet') throw new PulsefeedError('EE-700', 'The only --format is parquet.');
  const { exportParquet } = await loadExport();
  const progress = compactionProgress('archive export');
  const found = await exportParquet(db, archive, to, (upTo, end) => progress.tell(upTo, end, 0)).finally(() =>
    progress.end(),
  );
  if (json === true) return printJson(context, found);
  context.out(`Wrote ${found.rows} pulses to ${found.files} Parquet files in ${to}.\n`);
}

/** The writer is an optional package, loaded when it is used. */
async function loadExport(): Promise<typeof import('./archive-parquet.ts')> {
  try {
    return await import('./archive-parquet.ts');
  } catch (error) {
    throw new PulsefeedError(
      'EE-700',
      'Writing Parquet needs a package that is not installed: npm install hyparquet-writer.',
      { cause: error },
    );
  }
}
