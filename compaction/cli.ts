import { setTimeout as sleep } from 'node:timers/promises';
import type { Command } from 'commander';
import type { Config } from '../server/base/config/index.ts';
import type { Db } from '../server/base/db/index.ts';
import { PulsefeedError } from '../server/base/errors.ts';
import { createReporter } from '../server/base/report.ts';
import type { VerbContext } from '../server/context.ts';
import { isSwept, openLog, planRetiring, type RetireLag, retireFromStart } from '../server/log/index.ts';
import { printJson, table, withDatabase } from '../server/operate/verb.ts';
import { openArchive } from '../server/runtime.ts';
import { addSettingFlags } from '../server/setting-flags.ts';
import { compact, stepSizes } from './compact.ts';
import { CompactionLoop } from './compaction-loop.ts';
import { parseLag } from './lag.ts';
import { compactionProgress } from './progress.ts';
import { logSize, reclaim } from './reclaim.ts';
import { toldAsBefore, verify } from './verify.ts';

/** What the verbs are given besides: the end of a long run. */
export interface CompactContext extends VerbContext {
  /** Resolves with the name of the signal that asks this process to end. */
  readonly untilSignal: () => Promise<string>;
}

interface Flags {
  readonly json?: true;
  readonly full?: true;
  readonly check?: true;
  readonly reclaim?: true;
}

const now = () => performance.now();

/** Adds `compact plan|run|watch|verify`. Exit codes: 0 done, 1 failed or a fault was found, 2 wrong usage. */
export function registerCompact(program: Command, context: CompactContext): void {
  const group = program.command('compact').description('forward compaction of the log');
  const verb = (name: string, description: string) =>
    addSettingFlags(group.command(name).description(description), [
      'databaseUrl',
      'dataDir',
      'compactionLag',
      'archive',
    ]);
  verb('plan', 'say what would go, per resource and feed; change nothing')
    .option('--json', 'print JSON')
    .action((flags: Flags, command: Command) =>
      withDatabase(context, command, (config, db) => plan(context, db, lagOf(config), flags)),
    );
  verb('run', 'compact up to the lag, once')
    .option('--full', 'look at every pulse again, not only at those since the last run')
    .option(
      '--check',
      'compare in each step what every reader is told before and after; undo it on a difference',
    )
    .option('--reclaim', 'vacuum and rebuild the indexes afterwards, without locking anybody out')
    .option('--json', 'print JSON')
    .action((flags: Flags, command: Command) =>
      withDatabase(context, command, (config, db) => run(context, db, lagOf(config), flags)),
    );
  verb(
    'watch',
    'keep the log compact until stopped, for a server that runs with --compaction-lag off',
  ).action((_flags: Flags, command: Command) =>
    withDatabase(context, command, (config, db) => watch(context, config, db, lagOf(config))),
  );
  verb('verify', 'prove that every reader is told the same with and without compaction')
    .option('--json', 'print JSON')
    .action((flags: Flags, command: Command) =>
      withDatabase(context, command, (config, db) => proveAll(context, config, db, flags)),
    );
}

function lagOf(config: Config): RetireLag {
  const lag = parseLag(config.settings.compactionLag);
  if (lag === undefined) {
    throw new PulsefeedError(
      'EE-700',
      'Compaction is off; name a lag with --compaction-lag, such as 0 or 7d.',
    );
  }
  return lag;
}

async function plan(context: VerbContext, db: Db, lag: RetireLag, { json }: Flags): Promise<void> {
  const found = await planRetiring(db, lag);
  if (json === true) {
    return printJson(context, {
      after: String(found.after),
      upTo: String(found.upTo),
      resources: found.resources.map(({ resource, examined, dropped, narrowed }) => ({
        resource,
        examined: Number(examined),
        dropped: Number(dropped),
        narrowed: Number(narrowed),
      })),
      feeds: found.losses.map(({ resource, feed, pulses }) => ({ resource, feed, pulses: Number(pulses) })),
      logBytes: Number(found.logBytes),
      droppedBytes: Number(found.droppedBytes),
    });
  }
  const rows = found.resources.map(({ resource, examined, dropped, narrowed }) => [
    resource,
    String(examined),
    String(dropped),
    String(narrowed),
  ]);
  const losses = found.losses.map(({ resource, feed, pulses }) => [feed, resource, String(pulses)]);
  context.out(`Pulses ${found.after + 1n} to ${found.upTo}, with earlier ones of the same records:\n`);
  context.out(table([['RESOURCE', 'PULSES', 'GO', 'LOSE SOME FEEDS'], ...rows]));
  context.out(`\n${table([['FEED', 'RESOURCE', 'LOSES'], ...losses])}`);
  context.out(
    `\nAbout ${found.droppedBytes} of ${found.logBytes} bytes would become free. Nothing was changed.\n`,
  );
}

async function run(context: CompactContext, db: Db, lag: RetireLag, flags: Flags): Promise<void> {
  if (flags.full === true) {
    // A sweep that planned before would take its watermark for this one's.
    while (await isSwept(db)) await sleep(200);
    await retireFromStart(db);
  }
  const before = await logSize(db);
  const progress = compactionProgress('compact run');
  const stopped = new AbortController();
  void context.untilSignal().then(() => stopped.abort());
  try {
    const result = await compact({
      log: openLog(db),
      db,
      lag,
      limit: stepSizes[db.engine],
      // An operator waits for it: a short rest keeps readers going all the same.
      rest: worked => sleep(worked / 10),
      now,
      signal: stopped.signal,
      ...(flags.check === true ? { check: toldAsBefore } : {}),
      onStep: ({ dropped }, upTo, target) => progress.tell(upTo, target, dropped),
    });
    progress.end();
    if (flags.reclaim === true && !stopped.signal.aborted) await reclaim(db);
    const bytes = { before: total(before), after: total(await logSize(db)) };
    const { examined, dropped, narrowed, upTo } = result;
    if (flags.json === true)
      return printJson(context, {
        examined,
        dropped,
        narrowed,
        upTo: upTo === undefined ? null : String(upTo),
        bytes,
      });
    context.out(
      result.steps === 0
        ? 'There was nothing to do.\n'
        : `Compact up to ${upTo}: of ${examined} pulses ${dropped} went, ${narrowed} lost some feeds. ` +
            `The log takes ${bytes.after} bytes, before ${bytes.before}.\n`,
    );
  } finally {
    progress.end();
  }
}

function total(size: Awaited<ReturnType<typeof logSize>>): number {
  return Number(size.log + size.logIndexes + size.postings + size.postingsIndex);
}

async function watch(context: CompactContext, config: Config, db: Db, lag: RetireLag): Promise<void> {
  const { observe } = createReporter(config.settings.logLevel);
  const loop = new CompactionLoop({ log: openLog(db), db, lag, limit: stepSizes[db.engine], observe, now });
  loop.start();
  await context.untilSignal();
  await loop.stop();
}

async function proveAll(context: VerbContext, config: Config, db: Db, { json }: Flags): Promise<void> {
  const progress = compactionProgress('compact verify');
  try {
    const found = await verify(
      {
        ...{ db, log: openLog(db), archive: openArchive(config) },
        ...{ lag: { events: 0n }, limit: stepSizes[db.engine] },
      },
      (upTo, target) => progress.tell(upTo, target, 0),
    );
    progress.end();
    if (json === true) return printJson(context, { ...found, records: Number(found.records) });
    context.out(
      `Every feed has a pulse of each of the ${found.records} records it shows. Compacting to the head, rehearsed over ` +
        `${found.pulses} pulses and undone, would tell every reader the same from every cursor.\n`,
    );
  } finally {
    progress.end();
  }
}
