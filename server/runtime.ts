import { type ResourceTable, readResourceTables } from './base/catalog/index.ts';
import type { Config } from './base/config/index.ts';
import { connect, type Db, migrate, pendingMigrations } from './base/db/index.ts';
import { PulsefeedError } from './base/errors.ts';
import {
  Archive,
  dense,
  type EventLog,
  openLog,
  openStore,
  publishRules,
  type RecordSource,
  type Sequencer,
  snowflake,
} from './log/index.ts';
import { applyFeeds, RuleBook, recordSources, VisibilityPolicy } from './visibility/index.ts';

/** The parts that every program wires together: the database, the log in it, and what is known of the tables. */
export interface Runtime {
  readonly config: Config;
  readonly db: Db;
  readonly log: EventLog;
  readonly archive: Archive;
  readonly tables: readonly ResourceTable[];
  readonly rules: RuleBook;
  /** Who may see what; every reader goes through it. */
  readonly policy: VisibilityPolicy;
  /** The sources under the rules that were current when the runtime was opened. */
  readonly sources: readonly RecordSource[];
  /** A sequencer that follows the rules as the database has them. */
  sequencer(): Sequencer;
  close(): Promise<void>;
}

/** Connects to the configured database. @throws EE-701 when the data directory has another owner. */
export function openDatabase(config: Config, applicationName: string): Promise<Db> {
  const { databaseUrl, dataDir, poolSize, statementTimeoutMs } = config.settings;
  // Only a server has clients that give up waiting; migrations, seeding and reconciling take what they need.
  const timeout = applicationName === 'pulsefeed serve' ? { statementTimeoutMs } : {};
  return connect({ databaseUrl, dataDir, poolSize, applicationName, ...timeout });
}

/** The archive that the configuration names; nothing is read from it yet. @throws EE-700 for an address that is none. */
export function openArchive({ settings }: Pick<Config, 'settings'>): Archive {
  return new Archive(settings.archive === undefined ? undefined : openStore(settings.archive));
}

/**
 * Wires a runtime on an open database whose migrations have run.
 * @throws EE-704 when migrations are missing, EE-705 when a configured table or column is.
 */
export async function openRuntime(config: Config, db: Db): Promise<Runtime> {
  const pending = await pendingMigrations(db);
  if (pending.length > 0) {
    throw new PulsefeedError(
      'EE-704',
      `Migrations still to run: ${pending.join(', ')}. Run \`pulsefeed migrate\`.`,
    );
  }
  const tables = await readResourceTables(db, config.resources);
  const rules = new RuleBook(db, config.resources, tables);
  const sources = (await rules.load())?.sources ?? recordSources(config.resources, tables);
  const { numbering, machineId, batchSize } = config.settings;
  const numbers = numbering === 'snowflake' ? snowflake(machineId) : dense;
  const archive = openArchive(config);
  const log = openLog(db, numbers, archive);
  return {
    config,
    db,
    log,
    archive,
    tables,
    rules,
    policy: new VisibilityPolicy(rules),
    sources,
    sequencer: () =>
      log.sequence({
        loadSources: () => rules.load(),
        numbering: numbers,
        batchSize,
      }),
    close: () => db.close(),
  };
}

/**
 * Brings the schema up to date and makes this configuration's resources the ones that numbers are given under. Feeds
 * are applied too while the log is empty, so that no record is ever numbered for everyone by mistake; later they are
 * changed by `pulsefeed feeds apply` alone.
 */
export async function migrateAndPublish(
  config: Config,
  db: Db,
): Promise<{ migrations: string[]; published: boolean }> {
  const migrations = await migrate(db);
  // The tables are checked first: rules that name a missing one would stop every sequencer.
  const tables = await readResourceTables(db, config.resources);
  const published = await publishRules(db, { resources: config.resources });
  const { feeds } = config.file;
  if (feeds !== undefined && (await openLog(db).head()).head === 0n) {
    await applyFeeds(db, feeds, config.resources, tables);
  }
  return { migrations, published };
}

/**
 * @throws EE-203 when the configuration has feeds and the log has none: until they are applied every record would be
 * everyone's.
 */
export async function refuseUnappliedFeeds({ config, rules }: Runtime): Promise<void> {
  const wanted = config.file.feeds;
  if (wanted === undefined || (await rules.current()).feedsConfigured) return;
  throw new PulsefeedError(
    'EE-203',
    'The configuration has feeds, but the log still belongs to everyone. Run `pulsefeed feeds apply` first.',
  );
}
