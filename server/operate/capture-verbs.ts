import { type Command, InvalidArgumentError } from 'commander';
import type { ResourceTable } from '../base/catalog/index.ts';
import type { Config } from '../base/config/index.ts';
import type { Db } from '../base/db/index.ts';
import { PulsefeedError } from '../base/errors.ts';
import {
  captureScript,
  captureStatus,
  defaultMarginMs,
  type InstallResult,
  installCapture,
  type ReconcileResult,
  reconcile,
  removeCapture,
  removeStrays,
  strayCaptures,
} from '../capture/index.ts';
import type { VerbContext } from '../context.ts';
import { addSettingFlags, databaseSettings } from '../setting-flags.ts';
import { openProgress } from './progress.ts';
import { markFailed, printJson, table, withDatabase } from './verb.ts';

/** Adds `capture install|status|remove` and `reconcile`. */
export function registerCapture(program: Command, context: VerbContext): void {
  const capture = program
    .command('capture')
    .description('the triggers on your tables that make each change leave a row in the outbox');
  registerInstall(capture, context);
  registerStatus(capture, context);
  registerRemove(capture, context);
  for (const verb of capture.commands) verb.exitOverride();
  registerReconcile(program, context);
}

interface ResourceFlags {
  readonly resource?: readonly string[];
  readonly json?: boolean;
}

function registerInstall(capture: Command, context: VerbContext): void {
  const verb = capture
    .command('install')
    .description(
      'put the triggers on the tables, or correct those that drifted; waits 10 s for a table in use',
    )
    .option('--sql', 'print the script for a superuser instead of running it')
    .action(async (flags: ResourceFlags & { sql?: boolean }) => {
      await withDatabase(context, verb, async (config, db) => {
        const tables = await selectedTables(context, config, db, flags.resource);
        if (flags.sql === true) context.out(await captureScript(db, tables));
        else printResults(context, flags, await installCapture(db, tables));
      });
    });
  addCommonFlags(verb);
}

function registerStatus(capture: Command, context: VerbContext): void {
  const verb = capture
    .command('status')
    .description(
      'say for each table whether capture is installed, missing, disabled or different; 1 when it is not',
    )
    .action(async (flags: ResourceFlags) => {
      await withDatabase(context, verb, async (config, db) => {
        const tables = await selectedTables(context, config, db, flags.resource);
        const status = await captureStatus(db, tables);
        const strays = flags.resource === undefined ? await strayCaptures(db, tables) : [];
        if (status.some(({ state }) => state !== 'installed' && state !== 'unsupported')) markFailed();
        if (flags.json === true) return printJson(context, { tables: status, strays });
        context.out(
          table([
            ...status.map(row => [
              row.resource,
              row.table,
              row.state,
              [...row.faults, ...row.notes].join(' '),
            ]),
            ...strays.map(row => ['(none)', row.table ?? '', 'stray', `pulsefeed.${row.fn} is left over.`]),
          ]),
        );
      });
    });
  addCommonFlags(verb);
}

function registerRemove(capture: Command, context: VerbContext): void {
  const verb = capture
    .command('remove')
    .description('take the triggers off the tables: from then on changes are missed until reconcile')
    .option('--strays', 'only what is left of resources and tables that are not configured any more')
    .action(async (flags: ResourceFlags & { strays?: boolean }) => {
      await withDatabase(context, verb, async (config, db) => {
        const tables = await selectedTables(context, config, db, flags.resource);
        const remove = flags.strays === true ? removeStrays : removeCapture;
        printResults(context, flags, await remove(db, tables));
      });
    });
  addCommonFlags(verb);
}

interface ReconcileFlags extends ResourceFlags {
  readonly dryRun?: boolean;
  readonly margin: number;
  readonly since?: Date;
}

function registerReconcile(program: Command, context: VerbContext): void {
  const verb = program
    .command('reconcile')
    .description('compare tables and log, and pulse what is new, gone or modified since its last pulse')
    .option('--dry-run', 'compare and count, write nothing')
    .option(
      '--margin <seconds>',
      'a record modified so long before its last pulse, or later, is pulsed again',
      seconds,
      defaultMarginMs / 1_000,
    )
    .option('--since <time>', 'only records modified at or after this moment count as modified', moment)
    .action(async (flags: ReconcileFlags) => {
      await withDatabase(context, verb, async (config, db) => {
        const { rules, tables } = await context.openRuntime(config, db);
        const { sources } = await rules.refresh();
        const progress = openProgress('reconcile');
        try {
          const results = await reconcile(
            { db, tables, sources },
            {
              ...(flags.resource === undefined ? {} : { resources: flags.resource }),
              ...(flags.since === undefined ? {} : { since: flags.since }),
              dryRun: flags.dryRun === true,
              marginMs: flags.margin * 1_000,
              onProgress: ({ resource, phase, seen }) =>
                progress.tell(`${resource}, ${phase === 'live' ? 'live rows' : 'stored records'}`, seen),
            },
          );
          progress.end();
          printReconciled(context, flags, results);
        } finally {
          progress.end();
        }
      });
    });
  addCommonFlags(verb);
}

function printReconciled(
  context: VerbContext,
  flags: ReconcileFlags,
  results: readonly ReconcileResult[],
): void {
  if (flags.json === true) {
    printJson(context, { dryRun: flags.dryRun === true, resources: results });
    return;
  }
  const counts = ['live', 'stored', 'fresh', 'gone', 'moved', 'modified', 'tooLong'] as const;
  const titles = ['live', 'stored', 'new', 'gone', 'moved', 'modified', 'key too long'];
  context.out(
    table([
      ['resource', ...titles, 'such as'],
      ...results.map(row => [row.resource, ...counts.map(name => String(row[name])), row.sample.join(', ')]),
    ]),
  );
  for (const { resource, notes } of results) for (const note of notes) context.out(`${resource}: ${note}.\n`);
  const found = results.reduce((sum, row) => sum + row.fresh + row.gone + row.moved + row.modified, 0);
  context.out(
    flags.dryRun === true
      ? `${found} records would be pulsed; nothing was written.\n`
      : `${found} records were put into the outbox; the running sequencer pulses them.\n`,
  );
}

function printResults(context: VerbContext, flags: ResourceFlags, results: readonly InstallResult[]): void {
  if (results.some(({ outcome }) => outcome === 'busy' || outcome === 'refused')) markFailed();
  if (flags.json === true) printJson(context, results);
  else context.out(table(results.map(row => [row.resource, row.table, row.outcome, row.message])));
}

/** The tables of the named resources, or of all. The schema must be there: the triggers write into it. */
async function selectedTables(
  context: VerbContext,
  config: Config,
  db: Db,
  names: readonly string[] | undefined,
): Promise<ResourceTable[]> {
  const { tables } = await context.openRuntime(config, db);
  const unknown = names?.find(name => !tables.some(found => found.config.name === name));
  if (unknown !== undefined) {
    throw new PulsefeedError('EE-705', `Resource ${unknown} is not configured with a table.`);
  }
  return tables.filter(({ config: found }) => names?.includes(found.name) ?? true);
}

function addCommonFlags(verb: Command): void {
  verb.option('--resource <name...>', 'only these resources (default: all with a table)');
  verb.option('--json', 'print data instead of text');
  addSettingFlags(verb, databaseSettings);
}

function seconds(text: string): number {
  const value = Number(text);
  if (!Number.isFinite(value) || value < 0) throw new InvalidArgumentError('Give seconds, 0 or more.');
  return value;
}

function moment(text: string): Date {
  const value = new Date(text);
  if (Number.isNaN(value.getTime())) {
    throw new InvalidArgumentError('Give a time such as 2025-01-31T12:00:00Z.');
  }
  return value;
}
