import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Command } from 'commander';
import { type Config, describeConfig, loadConfig } from '../base/config/index.ts';
import { PulsefeedError } from '../base/errors.ts';
import type { VerbContext } from '../context.ts';
import { addSettingFlags, databaseSettings } from '../setting-flags.ts';
import { examine } from './doctor/examine.ts';
import type { Finding } from './doctor/finding.ts';
import type { Guess } from './init/guess-resources.ts';
import { guessFromCatalog, writeConfig } from './init/init.ts';
import { markFailed, printJson, table, withDatabase } from './verb.ts';

/** Adds `init`, `doctor`, `migrate` and `config`. */
export function registerOperate(program: Command, context: VerbContext): void {
  registerInit(program, context);
  registerMigrate(program, context);
  registerConfig(program, context);
  registerDoctor(program, context);
}

interface InitFlags {
  readonly config?: string;
  readonly force?: boolean;
  readonly dryRun?: boolean;
  readonly json?: boolean;
}

function registerInit(program: Command, context: VerbContext): void {
  const verb = program
    .command('init')
    .description('read the catalog, guess the resources, and write pulsefeed.config.json')
    .option('--force', 'replace the resources of an existing file; its settings are kept')
    .option('--dry-run', 'print what would be written, write nothing')
    .option('--json', 'print data instead of text')
    .action(async (flags: InitFlags) => {
      const named = flags.config ?? context.env.PULSEFEED_CONFIG;
      const path = resolve(context.cwd, named ?? 'pulsefeed.config.json');
      const config = await configBeforeInit(context, verb, path);
      const db = await context.openDatabase(config, 'pulsefeed init');
      const guess = await guessFromCatalog(db).finally(() => db.close());
      if (guess.resources.length === 0) {
        throw new PulsefeedError(
          'EE-705',
          'No table looks like a RESO resource: neither by its key (ListingKey, MemberKey, OfficeKey, MediaKey, ...) nor by its name. Write pulsefeed.config.json by hand; docs/operations.md shows one.',
        );
      }
      if (flags.dryRun !== true) await writeConfig(path, guess, flags.force === true);
      printGuess(context, flags, path, guess);
    });
  addSettingFlags(verb, databaseSettings);
}

/** Settings from the file when it is there; else from flags and environment alone: it is about to be written. */
function configBeforeInit(context: VerbContext, verb: Command, path: string): Promise<Config> {
  const { config: _, ...flags } = verb.optsWithGlobals();
  if (existsSync(path)) return context.loadConfig({ ...flags, config: path });
  return loadConfig({ flags, env: { ...context.env, PULSEFEED_CONFIG: undefined }, cwd: context.cwd });
}

function printGuess(context: VerbContext, flags: InitFlags, path: string, guess: Guess): void {
  const dry = flags.dryRun === true;
  if (flags.json === true) {
    printJson(context, { path: dry ? null : path, ...guess });
    return;
  }
  context.out(dry ? `${JSON.stringify({ resources: guess.resources }, null, 2)}\n` : `Wrote ${path}.\n`);
  context.out(list('Guessed:', guess.reasons) + list('Left out:', guess.leftOut));
  context.out(
    '\nCheck it, then: pulsefeed migrate, pulsefeed capture install, pulsefeed seed, pulsefeed serve.\n',
  );
}

function list(title: string, lines: readonly string[]): string {
  return lines.length === 0 ? '' : `\n${title}\n${lines.map(line => `  ${line}\n`).join('')}`;
}

function registerMigrate(program: Command, context: VerbContext): void {
  const verb = program
    .command('migrate')
    .description('bring schema pulsefeed up to date and publish the configured resources; safe to repeat')
    .option('--json', 'print data instead of text')
    .action(async (flags: { json?: boolean }) => {
      await withDatabase(context, verb, async (config, db) => {
        const { migrations, published } = await context.migrateAndPublish(config, db);
        if (flags.json === true) return printJson(context, { migrations, published });
        context.out(
          migrations.length === 0 ? 'The schema was up to date.\n' : `Ran ${migrations.join(', ')}.\n`,
        );
        context.out(
          published
            ? 'The configured resources were published. Processes started with others number nothing until restarted.\n'
            : 'The configured resources were published before.\n',
        );
      });
    });
  addSettingFlags(verb, databaseSettings);
}

function registerConfig(program: Command, context: VerbContext): void {
  const verb = program
    .command('config')
    .description(
      'print the settings as they hold, where each comes from, and the resources; secrets as set or unset',
    )
    .option('--json', 'print data instead of text')
    .action(async (flags: { json?: boolean }) => {
      const config = await context.loadConfig(verb.optsWithGlobals());
      const settings = describeConfig(config);
      if (flags.json === true) {
        return printJson(context, { path: config.path ?? null, settings, resources: config.resources });
      }
      context.out(`file: ${config.path ?? 'none'}\n\n`);
      const shown = settings.map(({ name, value, origin }) => [
        name,
        JSON.stringify(value) ?? 'unset',
        origin,
      ]);
      context.out(table([['setting', 'value', 'from'], ...shown]));
      const resources = config.resources.map(resource => [
        resource.name,
        resource.table ?? '(ingest)',
        resource.key ?? '',
        resource.modified ?? '',
        (resource.parents ?? []).map(parent => `${parent.column} -> ${parent.resource}`).join(', '),
      ]);
      context.out(`\n${table([['resource', 'table', 'key', 'modified', 'parents'], ...resources])}`);
    });
  addSettingFlags(verb);
}

function registerDoctor(program: Command, context: VerbContext): void {
  const verb = program
    .command('doctor')
    .description(
      'examine database, schema, tables, capture and log, and say what to do; 1 when something failed',
    )
    .option('--full', 'compare every record, however large the tables')
    .option('--json', 'print data instead of text')
    .action(async (flags: { full?: boolean; json?: boolean }) => {
      const config = await context.loadConfig(verb.optsWithGlobals());
      const findings = await examine({
        config,
        open: () => context.openDatabase(config, 'pulsefeed doctor'),
        full: flags.full === true,
      });
      if (findings.some(({ level }) => level === 'fail')) markFailed();
      if (flags.json === true) return printJson(context, findings);
      context.out(report(findings));
    });
  addSettingFlags(verb, databaseSettings);
}

/** The findings as a table, each remedy on a line below its finding, and a summary. */
export function report(findings: readonly Finding[]): string {
  const rows = table(findings.map(row => [row.level, row.check, row.subject ?? '', row.message])).split('\n');
  const lines = findings.flatMap((finding, index) => [
    rows[index] ?? '',
    ...(finding.remedy === undefined ? [] : [`      -> ${finding.remedy}`]),
  ]);
  const count = (level: Finding['level']) => findings.filter(finding => finding.level === level).length;
  return `${lines.join('\n')}\n\n${count('ok')} ok, ${count('warn')} to look at, ${count('fail')} failed\n`;
}
