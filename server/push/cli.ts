import { hostname } from 'node:os';
import { type Command, InvalidArgumentError } from 'commander';
import type { Db } from '../base/db/index.ts';
import { PulsefeedError } from '../base/errors.ts';
import type { Reporter } from '../base/report.ts';
import type { VerbContext } from '../context.ts';
import { printJson, table, withDatabase } from '../operate/verb.ts';
import type { Runtime } from '../runtime.ts';
import { addSettingFlags, databaseSettings } from '../setting-flags.ts';
import { deadLettersOf, type Listed, listSubscriptions, listWorkers, recentAttempts } from './list.ts';
import {
  pauseSubscription,
  redriveDeadLetters,
  resumeSubscription,
  type SeekTarget,
  seekSubscription,
} from './subscriptions.ts';

/** What the verbs are given besides. */
export interface PushVerbContext extends VerbContext {
  readonly createReporter: (level: string) => Reporter;
  /** Resolves with the name of the signal that asks this process to end. */
  readonly untilSignal: () => Promise<string>;
  /** Starts a worker on an open runtime; the caller stops it. @throws EE-504 without PULSEFEED_SECRET_KEY. */
  readonly startWorker: (
    runtime: Runtime,
    reporter: Reporter,
    name: string,
  ) => Promise<{ stop(): Promise<void> }>;
}

interface JsonOption {
  readonly json?: true;
}

/** Adds `webhook list|show|pause|resume|seek|redrive`, `push` and `worker list`. */
export function registerPush(program: Command, context: PushVerbContext): void {
  const webhook = program.command('webhook').description('subscriptions that events are pushed to');
  const verb = (usage: string, description: string) =>
    addSettingFlags(webhook.command(usage).description(description), databaseSettings).option(
      '--json',
      'print JSON',
    );
  verb('list', 'list the subscriptions').action((options: JsonOption, command: Command) =>
    withDatabase(context, command, async (_config, db) => {
      const found = await listSubscriptions(db);
      if (options.json === true) printJson(context, found);
      else context.out(table([heads, ...found.map(line)]));
    }),
  );
  verb('show <id>', 'show one subscription, its last attempts and its dead letters').action(
    (id: string, options: JsonOption, command: Command) =>
      withDatabase(context, command, (_config, db) => show(context, db, id, options)),
  );
  const change = (usage: string, description: string, work: (db: Db, id: string) => Promise<boolean>) =>
    verb(usage, description).action((id: string, options: JsonOption, command: Command) =>
      withDatabase(context, command, async (_config, db) => {
        if (!(await work(db, id))) throw noSuch(id);
        await showLine(context, db, id, options);
      }),
    );
  change('pause <id>', 'stop deliveries; the cursor stays', (db, id) =>
    db.transaction(tx => pauseSubscription(tx, null, id, 'Paused by the operator.')),
  );
  change('resume <id>', 'deliver again from the cursor', (db, id) =>
    db.transaction(tx => resumeSubscription(tx, null, id)),
  );
  verb(
    'seek <id> <place>',
    'go on behind a sequence, or behind what was numbered at a time (ISO 8601)',
  ).action((id: string, place: string, options: JsonOption, command: Command) =>
    withDatabase(context, command, async (_config, db) => {
      const target = seekPlace(place);
      if (!(await db.transaction(tx => seekSubscription(tx, null, id, target)))) throw noSuch(id);
      await showLine(context, db, id, options);
    }),
  );
  verb('redrive <id>', 'send its dead letters again')
    .option('--sequence <number>', 'only this one', text => sequence(text))
    .action((id: string, options: JsonOption & { sequence?: bigint }, command: Command) =>
      withDatabase(context, command, async (_config, db) => {
        const count = await db.transaction(tx => redriveDeadLetters(tx, null, id, options.sequence));
        if (count === undefined) throw noSuch(id);
        if (options.json === true) printJson(context, { queued: count });
        else context.out(`${count} dead letters are sent again.\n`);
      }),
    );
  registerWorkers(program, context);
}

function registerWorkers(program: Command, context: PushVerbContext): void {
  addSettingFlags(
    program.command('push').description('deliver events to the subscriptions until stopped'),
  ).action((_flags: unknown, command: Command) =>
    withDatabase(context, command, async (config, db) => {
      const reporter = context.createReporter(config.settings.logLevel);
      const runtime = await context.openRuntime(config, db);
      const worker = await context.startWorker(runtime, reporter, `${hostname()} ${process.pid}`);
      const signal = await context.untilSignal();
      reporter.observe({ kind: 'ServerStopping', signal });
      await worker.stop();
    }),
  );
  const group = program.command('worker').description('processes that deliver');
  addSettingFlags(group.command('list').description('list them with their load'), databaseSettings)
    .option('--json', 'print JSON')
    .action((options: JsonOption, command: Command) =>
      withDatabase(context, command, async (_config, db) => {
        const found = await listWorkers(db);
        if (options.json === true) return printJson(context, found);
        const rows = found.map(({ id, name, alive, busy, slots, delivered, serves }) => [
          id,
          alive ? 'alive' : 'dead',
          `${busy}/${slots}`,
          delivered,
          name,
          serves.join(' '),
        ]);
        context.out(table([['ID', 'STATE', 'BUSY', 'DELIVERED', 'NAME', 'SERVES NOW'], ...rows]));
      }),
    );
}

const heads = ['ID', 'CONSUMER', 'STATE', 'CURSOR', 'BEHIND', 'FAILURES', 'DEAD', 'CALLBACK', 'REASON'];

function line({
  id,
  consumer,
  state,
  cursor,
  behind,
  failures,
  deadLetters,
  callbackUrl,
  reason,
}: Listed): string[] {
  return [id, consumer, state, cursor, behind, String(failures), deadLetters, callbackUrl, reason ?? ''];
}

async function showLine(context: VerbContext, db: Db, id: string, options: JsonOption): Promise<void> {
  const [found] = await listSubscriptions(db, id);
  if (found === undefined) throw noSuch(id);
  if (options.json === true) printJson(context, found);
  else context.out(table([heads, line(found)]));
}

async function show(context: VerbContext, db: Db, id: string, options: JsonOption): Promise<void> {
  const [found] = await listSubscriptions(db, id);
  if (found === undefined) throw noSuch(id);
  const attempts = await recentAttempts(db, id);
  const deadLetters = await deadLettersOf(db, id);
  if (options.json === true) return printJson(context, { ...found, attempts, deadLetters });
  context.out(table([heads, line(found)]));
  context.out(
    `\n${table([
      ['AT', 'OUTCOME', 'STATUS', 'TRY', 'AFTER', 'UP TO', 'EVENTS', 'MS'],
      ...attempts.map(one => [
        one.at,
        one.outcome,
        String(one.status ?? '-'),
        String(one.attempt),
        one.after,
        one.upTo,
        String(one.events),
        String(one.ms),
      ]),
    ])}`,
  );
  if (deadLetters.length === 0) return;
  context.out(
    `\n${table([
      ['SEQUENCE', 'RECORD', 'STATE', 'STATUS', 'EXCERPT'],
      ...deadLetters.map(one => [
        one.sequence,
        `${one.resource} ${one.key}`,
        one.state,
        String(one.status ?? '-'),
        (one.excerpt ?? '').replace(/\s+/g, ' '),
      ]),
    ])}`,
  );
}

function seekPlace(text: string): SeekTarget {
  if (/^\d+$/.test(text)) return { sequence: sequence(text) };
  if (/^\d{4}-\d\d-\d\d/.test(text) && !Number.isNaN(Date.parse(text)))
    return { at: new Date(text).toISOString() };
  throw new PulsefeedError('EE-114', 'A place is a sequence or a time such as 2030-01-31T12:00:00Z.');
}

function sequence(text: string): bigint {
  if (!/^\d{1,19}$/.test(text)) throw new InvalidArgumentError('A sequence is a whole number.');
  return BigInt(text);
}

function noSuch(id: string): PulsefeedError {
  return new PulsefeedError('EE-505', `There is no subscription ${id}.`);
}
