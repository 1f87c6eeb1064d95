import type { Command } from 'commander';
import type { Config } from '../server/base/config/index.ts';
import type { Db } from '../server/base/db/index.ts';
import type { Runtime } from '../server/runtime.ts';
import { datePattern } from './date-pattern.ts';
import { defaultKeySeparator, type FileSource } from './file-source.ts';
import { type SeedReport, seed } from './index.ts';
import { type ProgressStream, showProgress } from './progress.ts';
import { reportText } from './report-text.ts';

/** What the verb is given by the program it is part of. */
export interface SeedContext {
  readonly loadConfig: (flags: Readonly<Record<string, unknown>>) => Promise<Config>;
  readonly openDatabase: (config: Config, applicationName: string) => Promise<Db>;
  readonly openRuntime: (config: Config, db: Db) => Promise<Runtime>;
  readonly migrateAndPublish: (config: Config, db: Db) => Promise<unknown>;
  /** Installs capture on the configured tables. @throws when it cannot: seeding without it would miss changes. */
  readonly installCapture?: (runtime: Runtime) => Promise<unknown>;
  /** Writes to standard output. */
  readonly out: (text: string) => void;
  /** Where progress goes; standard error when absent. */
  readonly progress?: ProgressStream;
}

interface SeedFlags extends Record<string, unknown> {
  readonly from?: string;
  readonly resource?: string;
  readonly key?: string;
  readonly keySeparator: string;
  readonly modified?: string;
  readonly modifiedFormat?: string;
  readonly load?: string;
  readonly skipBad?: true;
  readonly badFile?: string;
  readonly dryRun?: true;
  /** False with `--no-capture`. */
  readonly capture: boolean;
  readonly json?: true;
}

/**
 * Adds the verb `seed`. Exit codes: 0 done, 1 failed or stopped, 2 wrong usage. The caller adds the flags of the
 * settings to the command that is returned.
 */
export function registerSeed(program: Command, context: SeedContext): Command {
  return program
    .command('seed')
    .description('give every record that has no event its first one, from the configured tables or a file')
    .option(
      '--from <file>',
      'CSV or JSON lines (.ndjson, .jsonl), with .gz compressed; else the configured tables',
    )
    .option('--resource <name>', 'ResourceName of the records in the file')
    .option('--key <columns>', 'column of the file with the key, or several separated by commas')
    .option(
      '--key-separator <text>',
      'stands between the parts of a key of several columns',
      defaultKeySeparator,
    )
    .option('--modified <column>', 'column of the file with the time of the last change')
    .option(
      '--modified-format <pattern>',
      `how that time is written, in UTC: yyyy yy MM M dd d HH H mm ss SSS, 'text' between quotes (default: ISO 8601)`,
    )
    .option('--load <table>', `load the records into the resource's table as well, by column name`)
    .option(
      '--skip-bad',
      'leave records out that cannot be used; without it, one such record refuses the file',
    )
    .option('--bad-file <file>', 'write each record that cannot be used to this file, as JSON lines')
    .option('--dry-run', 'show counts, order and the first records; write nothing')
    .option(
      '--no-capture',
      'do not install capture first: changes made from now until it is installed get no event, until `pulsefeed reconcile`',
    )
    .option('--json', 'print the report as JSON')
    .action(async (flags: SeedFlags, command: Command) => {
      const file = fileSource(flags, command);
      const report = await run(context, flags, file);
      context.out(flags.json === true ? `${JSON.stringify(report)}\n` : reportText(report));
      if (!report.finished) process.exitCode = 1;
    });
}

/** Flags of a file make sense together only. */
function fileSource(flags: SeedFlags, command: Command): FileSource | undefined {
  const wrong = (message: string): never => command.error(`error: ${message}`, { exitCode: 2 });
  const { from, resource, key, modified, modifiedFormat, load } = flags;
  if (from === undefined) {
    for (const [name, value] of Object.entries({ resource, key, modified, load })) {
      if (value !== undefined) wrong(`--${name} is for records from a file: name it with --from`);
    }
    if (modifiedFormat !== undefined)
      wrong('--modified-format is for records from a file: name it with --from');
    return undefined;
  }
  if (resource === undefined) return wrong('--from needs --resource');
  const columns = (key ?? '').split(',').filter(column => column !== '');
  if (columns.length === 0) return wrong('--from needs --key');
  if (modifiedFormat !== undefined && modified === undefined)
    return wrong('--modified-format needs --modified');
  // A pattern that cannot be read is told before anything is connected to.
  if (modifiedFormat !== undefined) datePattern(modifiedFormat);
  return {
    path: from,
    resource,
    key: columns,
    keySeparator: flags.keySeparator,
    ...(modified === undefined ? {} : { modified }),
    ...(modifiedFormat === undefined ? {} : { modifiedFormat }),
    ...(load === undefined ? {} : { load }),
  };
}

async function run(
  context: SeedContext,
  flags: SeedFlags,
  file: FileSource | undefined,
): Promise<SeedReport> {
  const config = await context.loadConfig(flags);
  const db = await context.openDatabase(config, 'pulsefeed seed');
  const progress = showProgress(context.progress ?? process.stderr);
  const stop = new AbortController();
  const onSignal = () => stop.abort();
  process.once('SIGINT', onSignal).once('SIGTERM', onSignal);
  try {
    if (flags.dryRun !== true && (await isNew(db))) await context.migrateAndPublish(config, db);
    const runtime = await context.openRuntime(config, db);
    if (flags.dryRun !== true && flags.capture) await context.installCapture?.(runtime);
    const report = await seed(
      runtime,
      {
        ...(file === undefined ? {} : { file }),
        ...(flags.badFile === undefined ? {} : { badFile: flags.badFile }),
        dryRun: flags.dryRun === true,
        skipBad: flags.skipBad === true,
        signal: stop.signal,
      },
      progress.onProgress,
    );
    return flags.capture ? report : { ...report, notes: [...report.notes, withoutCapture] };
  } finally {
    progress.end();
    process.off('SIGINT', onSignal).off('SIGTERM', onSignal);
    await db.close();
  }
}

const withoutCapture =
  'Capture was not installed: changes made from now until `pulsefeed capture install` get no event. Run `pulsefeed reconcile` after it; of changes to records that stay, it sees those that move the modified column.';

/** An empty database is set up on the way; one that has a log is migrated only when the operator says so. */
async function isNew(db: Db): Promise<boolean> {
  const [row] = await db.query<{ there: boolean }>({
    text: `select to_regclass('pulsefeed.log_head') is not null as there`,
  });
  return row?.there !== true;
}
