import { Command, CommanderError } from 'commander';
import { registerReplicate } from '../client/cli.ts';
import { registerArchive } from '../compaction/archive-cli.ts';
import { registerCompact } from '../compaction/cli.ts';
import { registerSeed } from '../seeds/cli.ts';
import { seed } from '../seeds/index.ts';
import { registerConformance } from '../spec-tests/cli.ts';
import { PulsefeedError } from './base/errors.ts';
import { createReporter } from './base/report.ts';
import { ensureCapture } from './capture/index.ts';
import { processContext, type VerbContext } from './context.ts';
import { registerDemo } from './demo/cli.ts';
import {
  registerCapture,
  registerConsumer,
  registerEpoch,
  registerFeeds,
  registerOperate,
} from './operate/index.ts';
import { registerPush } from './push/index.ts';
import { packageVersion, serve, startPushWorker } from './serve.ts';
import { addSettingFlags, databaseSettings } from './setting-flags.ts';
import { untilSignal } from './signals.ts';

/** Runs one verb. Returns the exit code: 0 done, 1 failed, 2 wrong usage. */
export async function runCli(args: readonly string[]): Promise<number> {
  const context = processContext();
  const program = buildProgram(context);
  try {
    await program.parseAsync([...args], { from: 'user' });
    return typeof process.exitCode === 'number' ? process.exitCode : 0;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
    process.stderr.write(`${describe(error)}\n`);
    return error instanceof PulsefeedError && error.code === 'EE-700' ? 2 : 1;
  }
}

/** The `pulsefeed` program with all its verbs. */
export function buildProgram(context: VerbContext): Command {
  const program = new Command('pulsefeed')
    .description('Turns a listing database into a RESO EntityEvent feed.')
    .version(packageVersion())
    .exitOverride()
    .configureOutput({ writeOut: context.out });
  registerDemo(program, {
    ...context,
    installCapture: runtime => ensureCapture(runtime.db, runtime.tables),
    seed: (runtime, onProgress, signal) => seed(runtime, { signal }, onProgress),
    serve: (runtime, options) => serve(runtime, createReporter('warn'), options),
    signals: untilSignal,
  });
  registerOperate(program, context);
  registerCapture(program, context);
  addSettingFlags(
    registerSeed(program, {
      ...context,
      installCapture: runtime => ensureCapture(runtime.db, runtime.tables),
    }),
    databaseSettings,
  );
  registerServe(program, context);
  registerFeeds(program, context);
  registerConsumer(program, context);
  registerEpoch(program, context);
  registerCompact(program, { ...context, untilSignal });
  registerArchive(program, { ...context, untilSignal });
  registerPush(program, { ...context, createReporter, untilSignal, startWorker: startPushWorker });
  registerReplicate(program);
  registerConformance(program, {
    stdout: screen(process.stdout),
    stderr: screen(process.stderr),
    exit: code => {
      process.exitCode = code;
    },
  });
  overrideExits(program);
  return program;
}

function screen(stream: NodeJS.WriteStream) {
  return { isTty: stream.isTTY === true, write: (text: string) => void stream.write(text) };
}

/** Errors of usage in a verb come back to `runCli` instead of ending the process. */
function overrideExits(command: Command): void {
  command.exitOverride();
  for (const verb of command.commands) overrideExits(verb);
}

function registerServe(program: Command, context: VerbContext): void {
  const verb = program
    .command('serve')
    .description('serve the feed and the records over HTTP, and number changes')
    .action(async (flags: Record<string, unknown>) => {
      const config = await context.loadConfig(flags);
      const reporter = createReporter(config.settings.logLevel);
      const db = await context.openDatabase(config, 'pulsefeed serve');
      try {
        // The embedded database belongs to this process alone: nobody else could migrate it.
        if (db.engine === 'pglite') {
          reporter.observe({
            kind: 'Notice',
            message:
              'DATABASE_URL is not set: using the embedded database, which is for trying out and small feeds.',
          });
          await context.migrateAndPublish(config, db);
        }
        const runtime = await context.openRuntime(config, db);
        const served = await serve(runtime, reporter);
        const signal = await untilSignal();
        reporter.observe({ kind: 'ServerStopping', signal });
        await served.stop();
      } finally {
        await db.close();
      }
    });
  addSettingFlags(verb);
}

function describe(error: unknown): string {
  if (error instanceof PulsefeedError) return `${error.code}: ${error.message}`;
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
