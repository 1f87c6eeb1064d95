import type { Command } from 'commander';
import type { Config } from '../base/config/index.ts';
import type { Db } from '../base/db/index.ts';
import { PulsefeedError } from '../base/errors.ts';
import type { VerbContext } from '../context.ts';
import { dense, type EpochRow, listEpochs, maxSequence, openEpochByHand, snowflake } from '../log/index.ts';
import { addSettingFlags, databaseSettings } from '../setting-flags.ts';
import { printJson, table, withDatabase } from './verb.ts';

interface EpochFlags {
  readonly above?: string;
  readonly json?: boolean;
}

/** Adds `epoch`, which lists, and `epoch new`. */
export function registerEpoch(program: Command, context: VerbContext): void {
  const epoch = program
    .command('epoch')
    .description('the histories of the log: a restore that lost numbers begins a new one');
  const verb = (name: string, description: string) =>
    addSettingFlags(
      epoch.command(name, { isDefault: name === 'list' }).description(description),
      databaseSettings,
    ).option('--json', 'print JSON');
  verb('list', 'print when each epoch began, why, and which numbers were lost before it').action(
    (flags: EpochFlags, command: Command) =>
      withDatabase(context, command, (_config, db) => list(context, db, flags)),
  );
  verb(
    'new',
    'begin a new epoch above every number that can have been handed out; harmless when none was lost',
  )
    .option(
      '--above <number>',
      'a number known to have been handed out, where it may be beyond all estimates',
    )
    .action((flags: EpochFlags, command: Command) =>
      withDatabase(context, command, (config, db) => begin(context, config, db, flags)),
    );
}

async function list(context: VerbContext, db: Db, { json }: EpochFlags): Promise<void> {
  const epochs = (await listEpochs(db)).map(row => ({
    epoch: row.epoch,
    openedAt: row.opened_at.toISOString(),
    reason: row.reason,
    lost: lostOf(row),
  }));
  if (json === true) return printJson(context, epochs);
  const rows = epochs.map(({ epoch, openedAt, reason, lost }) => [
    String(epoch),
    openedAt,
    reason,
    lost === null ? 'none' : `${lost.from} to ${lost.to}`,
  ]);
  context.out(table([['EPOCH', 'SINCE', 'REASON', 'NUMBERS LOST'], ...rows]));
}

/** Numbers as text: they go beyond what JSON readers keep exact. */
function lostOf({ lost_after, lost_to }: EpochRow): { from: string; to: string } | null {
  return lost_to === lost_after ? null : { from: String(lost_after + 1n), to: String(lost_to) };
}

async function begin(context: VerbContext, config: Config, db: Db, flags: EpochFlags): Promise<void> {
  const { numbering, machineId } = config.settings;
  const numbers = numbering === 'snowflake' ? snowflake(machineId) : dense;
  const { epoch, lostAfter, lostTo } = await openEpochByHand(db, numbers, aboveOf(flags.above));
  if (flags.json === true) {
    return printJson(context, { epoch, lost: { from: String(lostAfter + 1n), to: String(lostTo) } });
  }
  context.out(
    `Epoch ${epoch} has begun. Numbers go on at ${lostTo + 2n}. Whoever asks from ${lostAfter + 1n} to ${lostTo} is told to ` +
      'start again (410); whoever stands before that is served as ever.\n',
  );
}

function aboveOf(text: string | undefined): bigint {
  if (text === undefined) return 0n;
  if (!/^\d{1,19}$/.test(text) || BigInt(text) > maxSequence) {
    throw new PulsefeedError('EE-700', '--above takes a number of the log, such as 120455.');
  }
  return BigInt(text);
}
