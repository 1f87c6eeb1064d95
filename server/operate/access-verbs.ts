import { type Command, InvalidArgumentError } from 'commander';
import { issueConsumer, regrant, reissue } from '../access/index.ts';
import type { Scope } from '../base/auth/viewer.ts';
import type { VerbContext } from '../context.ts';
import { addSettingFlags, databaseSettings } from '../setting-flags.ts';
import {
  type Consumer,
  changeConsumer,
  listConsumers,
  readConsumer,
  setDisabled,
} from '../visibility/index.ts';
import { printJson, table, withDatabase } from './verb.ts';

const scopes: readonly Scope[] = ['read', 'write', 'ingest', 'admin'];

/** Adds `consumer add|list|show|grant|revoke|set|rotate|disable|enable`. */
export function registerConsumer(program: Command, context: VerbContext): void {
  const consumer = program.command('consumer').description('who may read, and which feeds');
  const verb = (usage: string, description: string) =>
    addSettingFlags(consumer.command(usage).description(description), databaseSettings).option(
      '--json',
      'print JSON',
    );
  verb('add <name>', 'add a consumer and print its credentials, once')
    .option('--feeds <list>', 'feeds it may see, separated by commas', commaList, [])
    .option('--attr <name=value>', 'an attribute; again for more, values separated by commas', attribute, {})
    .option('--scopes <list>', `what its token allows, of ${scopes.join(', ')}`, scopeList, ['read'])
    .action((name: string, options: AddOptions, command: Command) =>
      withDatabase(context, command, async (_config, db) => {
        const { feeds, attr, scopes: allowed } = options;
        const issued = await issueConsumer(db, { name, feeds, attributes: attr, scopes: allowed });
        showCredentials(context, issued, options.json);
      }),
    );
  verb('list', 'list the consumers').action((options: JsonOption, command: Command) =>
    withDatabase(context, command, async (_config, db) => {
      const found = await listConsumers(db);
      if (options.json === true) printJson(context, found);
      else context.out(table([['NAME', 'CLIENT ID', 'SCOPES', 'FEEDS', 'ATTRIBUTES'], ...found.map(line)]));
    }),
  );
  verb('show <name>', 'show one consumer').action((name: string, options: JsonOption, command: Command) =>
    withDatabase(context, command, async (_config, db) =>
      show(context, await readConsumer(db, name), options),
    ),
  );
  verb('grant <name>', 'let it see more feeds; it is told of every record it gains')
    .requiredOption('--feeds <list>', 'separated by commas', commaList)
    .action((name: string, options: FeedOptions, command: Command) =>
      withDatabase(context, command, async (_config, db) =>
        show(context, await regrant(db, name, options.feeds, []), options),
      ),
    );
  verb('revoke <name>', 'take feeds from it; it is told of every record it loses')
    .requiredOption('--feeds <list>', 'separated by commas', commaList)
    .action((name: string, options: FeedOptions, command: Command) =>
      withDatabase(context, command, async (_config, db) =>
        show(context, await regrant(db, name, [], options.feeds), options),
      ),
    );
  verb('set <name>', 'replace its attributes')
    .option('--attr <name=value>', 'an attribute; again for more, values separated by commas', attribute, {})
    .action((name: string, options: AddOptions, command: Command) =>
      withDatabase(context, command, async (_config, db) => {
        await changeConsumer(db, name, { attributes: options.attr });
        show(context, await readConsumer(db, name), options);
      }),
    );
  verb('rotate <name>', 'replace its secret and end its tokens').action(
    (name: string, options: JsonOption, command: Command) =>
      withDatabase(context, command, async (_config, db) =>
        showCredentials(context, await reissue(db, name), options.json),
      ),
  );
  for (const disabled of [true, false]) {
    verb(
      disabled ? 'disable <name>' : 'enable <name>',
      disabled ? 'refuse it everywhere' : 'let it in again',
    ).action((name: string, options: JsonOption, command: Command) =>
      withDatabase(context, command, async (_config, db) => {
        await readConsumer(db, name);
        await setDisabled(db, name, disabled);
        show(context, await readConsumer(db, name), options);
      }),
    );
  }
}

interface JsonOption {
  readonly json?: true;
}

interface FeedOptions extends JsonOption {
  readonly feeds: string[];
}

interface AddOptions extends FeedOptions {
  readonly attr: Record<string, string[]>;
  readonly scopes: Scope[];
}

function show(context: VerbContext, consumer: Consumer, options: JsonOption): void {
  if (options.json === true) printJson(context, consumer);
  else context.out(table([['NAME', 'CLIENT ID', 'SCOPES', 'FEEDS', 'ATTRIBUTES'], line(consumer)]));
}

function showCredentials(
  context: VerbContext,
  issued: { name: string; clientId: string; secret: string; token: string },
  json: true | undefined,
): void {
  if (json === true) {
    printJson(context, issued);
    return;
  }
  context.out(
    table([
      ['consumer', issued.name],
      ['client id', issued.clientId],
      ['secret', issued.secret],
      ['token', issued.token],
    ]),
  );
  context.out('Keep them now: they are not shown again.\n');
}

function line(consumer: Consumer): string[] {
  const attributes = Object.entries(consumer.attributes).map(
    ([name, values]) => `${name}=${values.join(',')}`,
  );
  return [
    consumer.disabled ? `${consumer.name} (disabled)` : consumer.name,
    consumer.clientId,
    consumer.scopes.join(','),
    consumer.grants.join(','),
    attributes.join(' '),
  ];
}

function commaList(text: string): string[] {
  return text
    .split(',')
    .map(part => part.trim())
    .filter(part => part !== '');
}

function scopeList(text: string): Scope[] {
  return commaList(text).map(name => {
    const scope = scopes.find(known => known === name);
    if (scope === undefined) throw new InvalidArgumentError(`Scopes are ${scopes.join(', ')}.`);
    return scope;
  });
}

function attribute(text: string, before: Record<string, string[]>): Record<string, string[]> {
  const [name = '', values] = text.split(/=(.*)/s);
  if (name === '' || values === undefined) throw new InvalidArgumentError('Write it as Name=value.');
  return { ...before, [name]: [...(before[name] ?? []), ...commaList(values)] };
}
