import { readResourceTables } from '../server/base/catalog/index.ts';
import type { ResourceConfig } from '../server/base/config/index.ts';
import { connect, type Db, migrate } from '../server/base/db/index.ts';
import {
  dense,
  type EventLog,
  openLog,
  publishRules,
  type Sequencer,
  type SequencerOptions,
  type StepOutcome,
} from '../server/log/index.ts';
import { RuleBook } from '../server/visibility/index.ts';
import { atRunEnd, atTestEnd } from './cleanup.ts';
import { embeddedFolder } from './embedded-folder.ts';
import { openSession } from './gates.ts';
import { captured, providerTables, resources } from './log-resources.ts';
import { testDatabase } from './postgres.ts';
import { until } from './until.ts';

/** Fills an empty database: the schema, the provider's tables with their capture, the rules. */
export async function buildLogDatabase(url: string): Promise<void> {
  const db = await connect({ databaseUrl: url, dataDir: '' });
  try {
    await build(db);
  } finally {
    await db.close();
  }
}

async function build(db: Db): Promise<void> {
  await migrate(db);
  await db.script(providerTables);
  await publishRules(db, { resources });
}

/**
 * A database that the tests of a file share, emptied between them: a fraction of the time that one for each takes.
 * It is closed when the run ends.
 */
export async function sharedLogDatabase(engine: 'PostgreSQL' | 'PGlite'): Promise<LogDatabase> {
  if (engine === 'PostgreSQL') {
    const { url, drop } = await testDatabase({ template: buildLogDatabase, name: 'log' });
    const db = await connect({ databaseUrl: url, dataDir: '' });
    atRunEnd(async () => {
      await db.close();
      await drop();
    });
    return useLogDatabase(db, url);
  }
  const { path } = await embeddedFolder('embedded');
  const db = await connect({ dataDir: path });
  atRunEnd(() => db.close());
  await build(db);
  return useLogDatabase(db, '');
}

/** Empties the log and the provider's tables, for a database that several tests share. */
export async function emptyLogDatabase({ write }: LogDatabase): Promise<void> {
  const log = ['record_change', 'entity_event', 'record_state', 'log_time', 'ingested', 'resource'];
  const provider = captured.map(({ table }) => table);
  await write(`
    truncate ${provider.join(', ')};
    truncate ${log.map(table => `pulsefeed.${table}`).join(', ')};
    update pulsefeed.log_head set last_seq = 0, batch_stage = null, batch_xid = null`);
}

/** A database of one test, on a connection pool that is closed with it. */
export interface LogDatabase {
  readonly url: string;
  readonly db: Db;
  readonly log: EventLog;
  /**
   * A sequencer of its own session, closed when the test ends. Batches of 10,000 and dense numbers unless told.
   * @param through is the way to the database, where a test meddles with it.
   */
  sequencer(options?: SequencerChoice, through?: Db): Sequencer;
  /** All pulses in their order, as `Resource/key`. */
  pulses(): Promise<string[]>;
  /** Runs SQL in one transaction of its own. */
  write(sql: string): Promise<void>;
  /** Resolves when so many sessions of the database wait for a lock. */
  waiting(sessions: number): Promise<void>;
}

/** What a test may ask of its sequencer; `resources` are those that its process was started with. */
export type SequencerChoice = Partial<Omit<SequencerOptions, 'db' | 'loadSources'>> & {
  readonly resources?: readonly ResourceConfig[];
};

/** Makes a database with the provider's tables, which is dropped when the test ends. */
export async function logDatabase(): Promise<LogDatabase> {
  const database = await testDatabase({ template: buildLogDatabase, name: 'log' });
  atTestEnd(() => database.drop());
  return openLogDatabase(database.url);
}

/** Opens a database that `buildLogDatabase` filled; its connections are closed when the test ends. */
export async function openLogDatabase(url: string): Promise<LogDatabase> {
  const db = await connect({ databaseUrl: url, dataDir: '', poolSize: 30, applicationName: 'under-test' });
  atTestEnd(() => db.close());
  return useLogDatabase(db, url);
}

async function useLogDatabase(db: Db, url: string): Promise<LogDatabase> {
  const tables = await readResourceTables(db, resources);
  return {
    url,
    db,
    // Anew each time: a log remembers its head, and one that was emptied would look as if it had lost numbers.
    get log() {
      return openLog(db);
    },
    sequencer({ resources: known = resources, ...options } = {}, through = db) {
      const rules = new RuleBook(db, known, tables);
      const sequencer = openLog(through).sequence({
        loadSources: () => rules.load(),
        numbering: dense,
        batchSize: 10_000,
        ...options,
      });
      atTestEnd(() => sequencer.close());
      return sequencer;
    },
    pulses: () => readPulses(openLog(db)),
    write: sql => db.transaction(tx => tx.script(sql)),
    async waiting(sessions) {
      const reached = async () => {
        const rows = await db.query({
          text: `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
        });
        return rows.length === sessions;
      };
      await until(`${sessions} sessions to wait for a lock`, reached);
    },
  };
}

/** All pulses above `after` in their order, as `Resource/key`, read page by page. */
export async function readPulses(log: EventLog, after = 0n): Promise<string[]> {
  return (await readAll(log, after)).map(({ resource, key }) => `${resource}/${key}`);
}

/** All pulses above `after`, read by seek in pages of 1,000. */
export async function readAll(log: EventLog, after = 0n) {
  const all = [];
  for (let cursor = after; ; ) {
    const { pulses } = await log.read({ where: { text: 'e.seq > $1', values: [cursor] }, limit: 1_000 });
    all.push(...pulses);
    const last = pulses.at(-1);
    if (last === undefined) return all;
    cursor = last.sequence;
  }
}

/** Steps until nothing is waiting. @throws Error when it does not come to rest in `most` steps. */
export async function drain(sequencer: Sequencer, most = 10_000): Promise<StepOutcome[]> {
  const outcomes: StepOutcome[] = [];
  for (let step = 0; step < most; step++) {
    const outcome = await sequencer.step();
    if (outcome.kind === 'idle') return outcomes;
    if (outcome.kind !== 'numbered') throw new Error(`the sequencer does not number: ${outcome.kind}`);
    outcomes.push(outcome);
  }
  throw new Error(`the sequencer is still not idle after ${most} steps`);
}

/** A place where statements are held. */
export interface Gate {
  /** Resolves with the backend that waits there. */
  reached(): Promise<number>;
  open(): Promise<void>;
}

/**
 * Holds every statement that does `event` on `table` until the gate is opened: a trigger that waits for an advisory
 * lock. `deferred` holds the commit instead. One gate per database.
 */
export async function gateAt(
  { url }: Pick<LogDatabase, 'url'>,
  event: 'insert' | 'update' | 'delete',
  table: string,
  deferred = false,
): Promise<Gate> {
  const keeper = await openSession(url, 'gate-keeper');
  const each = deferred ? 'deferrable initially deferred for each row' : 'for each statement';
  await keeper.run(`
    create function wait_at_gate() returns trigger language plpgsql as
    $$ begin perform pg_advisory_xact_lock_shared(4711); return null; end $$;
    create ${deferred ? 'constraint' : ''} trigger gate after ${event} on ${table} ${each}
    execute function wait_at_gate()`);
  await keeper.run('select pg_advisory_lock(4711)');
  const waiting = async () => {
    const { rows } = await keeper.run<{ pid: number }>(
      `select pid from pg_stat_activity where datname = current_database() and wait_event = 'advisory'`,
    );
    return rows[0]?.pid;
  };
  return {
    reached: () => until(`a statement to wait at ${event} on ${table}`, waiting, { withinMs: 10_000 }),
    async open() {
      await keeper.run('select pg_advisory_unlock(4711)');
    },
  };
}
