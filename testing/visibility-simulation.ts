import assert from 'node:assert/strict';
import pg from 'pg';
import { issueConsumer } from '../server/access/index.ts';
import { type ResourceTable, readResourceTables } from '../server/base/catalog/index.ts';
import { type Config, loadConfig } from '../server/base/config/index.ts';
import { connect, type Db } from '../server/base/db/index.ts';
import { PulsefeedError } from '../server/base/errors.ts';
import { createReporter } from '../server/base/report.ts';
import { dense, type Sequencer, type StepOutcome } from '../server/log/index.ts';
import { openRuntime, type Runtime } from '../server/runtime.ts';
import { type Served, serve } from '../server/serve.ts';
import {
  applyFeeds,
  changeConsumer,
  currentWalk,
  type FeedsConfig,
  stepWalk,
} from '../server/visibility/index.ts';
import { testDatabase } from './postgres.ts';
import { orderBreach, readFeedPulses, readStored, type StoredRecord } from './pulse-order.ts';
import { type SeededRandom, seededRandom } from './seeded-random.ts';
import { openSimulatedConsumer, type SimulatedConsumer } from './simulated-consumer.ts';
import {
  buildSimulationDatabase,
  offices,
  type ProviderRow,
  readProviderRows,
  resourceOf,
  resources,
  type SessionPool,
  SimulatedProvider,
} from './simulated-provider.ts';

/** A database with the connections that many histories share: making them anew took most of a history's time. */
export interface SimulationBed {
  readonly db: Db;
  readonly config: Config;
  readonly tables: readonly ResourceTable[];
  readonly sessions: SessionPool;
  /** Empties everything but the schema and the resources. */
  reset(): Promise<void>;
  close(): Promise<void>;
}

/** Opens a database that `buildSimulationDatabase` filled. Histories run on it one after the other. */
async function openSimulationBed(databaseUrl: string): Promise<SimulationBed> {
  const url = new URL(databaseUrl);
  // No history crashes the server: nothing of it need outlive one.
  url.searchParams.set('options', '-c synchronous_commit=off -c jit=off');
  const loaded = await loadConfig({ env: { DATABASE_URL: databaseUrl }, cwd: import.meta.dirname });
  const db = await connect({ databaseUrl: url.href, dataDir: '', poolSize: 4 });
  const all: pg.Client[] = [];
  const idle: pg.Client[] = [];
  return {
    db,
    config: { ...loaded, resources, settings: { ...loaded.settings, sequencer: false, host: '127.0.0.1' } },
    tables: await readResourceTables(db, resources),
    sessions: {
      async take() {
        const free = idle.pop();
        if (free !== undefined) return free;
        const client = new pg.Client({ connectionString: url.href, application_name: 'producer' });
        await client.connect();
        all.push(client);
        return client;
      },
      give: session => idle.push(session),
    },
    reset: () => db.script(resetSql),
    async close() {
      for (const client of all) await client.end();
      await db.close();
    },
  };
}

const emptied = [
  ...[
    'visibility_walk',
    'consumer_feed',
    'consumer_grant',
    'consumer',
    'event_feed',
    'entity_event',
    'archive_segment',
    'log_time',
  ],
  ...['record_state', 'record_change', 'batch_flip', 'batch_key', 'batch_truncate', 'batch_pulse'],
];

const resetSql = `
begin;
delete from office; delete from property; delete from media;
${emptied.map(table => `delete from pulsefeed.${table};`).join(' ')}
delete from pulsefeed.audience where id > 1;
delete from pulsefeed.feed where id > 1;
delete from pulsefeed.feed_definition where id > 1;
update pulsefeed.archive set archived_to = 0;
update pulsefeed.log_head set last_seq = 0, rule_version = 1, batch_stage = null, batch_xid = null;
delete from pulsefeed.rule_set where version > 1;
commit`;

/**
 * Many random histories, in two databases beside each other.
 * @throws Error with the seed that replays the history that failed
 */
export async function simulateMany(
  histories: number,
  one: (bed: SimulationBed, random: SeededRandom) => Promise<unknown>,
): Promise<void> {
  let next = 0;
  const lane = async () => {
    const { url, drop } = await testDatabase({ template: buildSimulationDatabase, name: 'simulation' });
    const bed = await openSimulationBed(url);
    try {
      while (next < histories) {
        next += 1;
        const history = next;
        const random = seededRandom();
        await one(bed, random).catch((error: unknown) => {
          next = histories;
          throw new Error(`history ${history} failed; replay it with ${random.seed}`, { cause: error });
        });
      }
    } finally {
      await bed.close();
      await drop();
    }
  };
  const ends = await Promise.allSettled([lane(), lane()]);
  for (const end of ends) if (end.status === 'rejected') throw end.reason;
}

/** What a history may be made of; every part can be left out to find what a fault needs. */
export interface SimulationOptions {
  readonly bed: SimulationBed;
  readonly random: SeededRandom;
  readonly steps: number;
  /** Called between steps with the log; compaction goes in here. */
  readonly between?: (db: Db) => Promise<void>;
  /** The setting of the server: where archived pulses lie. */
  readonly archive?: string;
}

/**
 * One random history on a real database, served over HTTP: transactions with row locks, rollbacks, re-parenting,
 * cascades, deletions and re-creations, rule edits, grants, revocations, new attributes; six consumers that copy with the
 * replication client, page at random sizes, fetch late and sometimes crash before they save. At the end every copy must
 * equal what its consumer may see; in each batch and feed RCP-027's order must hold.
 */
export async function simulate(options: SimulationOptions): Promise<{ pulses: number }> {
  await options.bed.reset();
  const simulation = await Simulation.begin(options);
  try {
    await simulation.run(options.steps);
    return await simulation.finish();
  } finally {
    await simulation.close();
  }
}

interface Reader {
  readonly name: string;
  readonly consumer: SimulatedConsumer;
  grants: readonly string[];
  offices: readonly string[];
}

const copied = {
  keys: Object.fromEntries(resources.map(({ name, key }) => [name, String(key)])),
  parents: Object.fromEntries(
    resources.map(({ name, parents = [] }) => [name, parents.map(({ resource }) => resource)]),
  ),
};

class Simulation {
  readonly #random: SeededRandom;
  readonly #bed: SimulationBed;
  readonly #runtime: Runtime;
  readonly #served: Served;
  readonly #provider: SimulatedProvider;
  readonly #between: ((db: Db) => Promise<void>) | undefined;
  readonly #readers: Reader[] = [];
  #sequencer: Sequencer;
  #feeds: FeedsConfig;
  #head = 0n;
  /** What was stored before the batch in hand, which may take several steps. */
  #stored: ReadonlyMap<string, StoredRecord> = new Map();

  private constructor(options: SimulationOptions, feeds: FeedsConfig, runtime: Runtime, served: Served) {
    this.#random = options.random;
    this.#bed = options.bed;
    this.#between = options.between;
    this.#feeds = feeds;
    this.#runtime = runtime;
    this.#served = served;
    this.#provider = new SimulatedProvider(options.bed.sessions, options.random);
    this.#sequencer = this.#newSequencer();
  }

  static async begin(options: SimulationOptions): Promise<Simulation> {
    const { bed, random, archive } = options;
    const feeds = randomFeeds(random);
    await applyFeeds(bed.db, feeds, resources, bed.tables);
    const settings = { ...bed.config.settings, archive, archiveWindow: 'off' };
    const runtime = await openRuntime({ ...bed.config, settings, file: { resources, feeds } }, bed.db);
    const served = await serve(runtime, createReporter('silent'), { port: 0 });
    const simulation = new Simulation(options, feeds, runtime, served);
    for (const [index, grants] of [['A'], ['B'], ['All'], ['A', 'B'], ['Own'], ['Own', 'B']].entries()) {
      await simulation.#addReader(
        `consumer${index}`,
        grants,
        index >= 4 ? [offices[index - 4] ?? 'O0'] : ['O2'],
      );
    }
    return simulation;
  }

  async close(): Promise<void> {
    for (const { consumer } of this.#readers) await consumer.close();
    await this.#provider.endAll('rollback');
    await this.#sequencer.close();
    await this.#served.stop();
  }

  async #addReader(name: string, grants: string[], held: string[]): Promise<void> {
    const { token } = await issueConsumer(this.#bed.db, {
      ...{ name, feeds: grants, scopes: ['read'], attributes: { OfficeKey: held } },
    });
    const consumer = await openSimulatedConsumer(this.#served.url, token, copied, this.#random);
    this.#readers.push({ name, consumer, grants, offices: held });
  }

  #newSequencer(): Sequencer {
    return this.#runtime.log.sequence({
      loadSources: () => this.#runtime.rules.load(),
      numbering: dense,
      // Mostly small, so that flips and transactions outgrow a step.
      batchSize: this.#random.below(3) > 0 ? 2 + this.#random.below(8) : 10 + this.#random.below(30),
    });
  }

  async run(steps: number): Promise<void> {
    for (let step = 0; step < steps; step += 1) {
      const x = this.#random.below(100);
      if (x < 38) await this.#provider.step();
      else if (x < 56) await this.#step();
      else if (x < 82) await this.#pick(this.#readers).consumer.step();
      else if (x < 85) await this.#editRules();
      else if (x < 92) await this.#changeGrants(this.#pick(this.#readers));
      else if (x < 98) await this.#walk();
      else {
        await this.#sequencer.close();
        this.#sequencer = this.#newSequencer();
      }
      await this.#between?.(this.#bed.db);
    }
  }

  /** Ends what is open, numbers what waits, lets everybody read to the head, and compares. */
  async finish(): Promise<{ pulses: number }> {
    await this.#provider.endAll('commit');
    for (;;) {
      const outcome = await this.#step();
      if (outcome.kind === 'numbered') continue;
      if ((await currentWalk(this.#bed.db)) === undefined && outcome.kind === 'idle') break;
      await this.#walk();
      // What is told at the end is to be looked for in the archive as well.
      if (this.#runtime.archive.store !== undefined) await this.#between?.(this.#bed.db);
    }
    await this.#between?.(this.#bed.db);
    for (const reader of this.#readers) {
      await reader.consumer.finish();
      assert.deepEqual(
        Object.fromEntries([...reader.consumer.copy()].sort()),
        Object.fromEntries([...(await this.#truth(reader))].sort()),
        `the copy of ${reader.name} (${reader.grants}, ${reader.offices}) differs; ${this.#random.seed}`,
      );
    }
    return { pulses: Number((await this.#runtime.log.head()).head) };
  }

  /** One step of the sequencer; when it ended a batch, the order in each feed is checked. */
  async #step(): Promise<StepOutcome> {
    const outcome = await this.#sequencer.step();
    if (outcome.kind !== 'numbered') return outcome;
    const { db } = this.#bed;
    const [row] = await db.query<{ open: boolean }>({
      text: 'select batch_stage is not null as open from pulsefeed.log_head',
    });
    if (row?.open !== false) return outcome;
    const stored = await readStored(db);
    const pulses = await readFeedPulses(db, this.#head);
    assert.equal(orderBreach(this.#stored, stored, pulses), undefined);
    this.#stored = stored;
    this.#head = (await this.#runtime.log.head()).head;
    return outcome;
  }

  /** Half of the time as `feeds apply` does it: what is open is ended first. */
  async #editRules(): Promise<void> {
    const feeds = randomFeeds(this.#random);
    if (this.#random.below(2) === 0) await this.#endWalks();
    try {
      await applyFeeds(this.#bed.db, feeds, resources, this.#bed.tables);
      this.#feeds = feeds;
    } catch (error) {
      // What an earlier change queued is not numbered yet: the operator tries again later.
      if (!(error instanceof PulsefeedError) || error.code !== 'EE-204') throw error;
    }
  }

  async #endWalks(): Promise<void> {
    const { db, tables } = this.#bed;
    for (let turn = 0; turn < 1_000; turn += 1) {
      const { rules, archive } = this.#runtime;
      const walked = await stepWalk({ db, tables, rules, archive, chunk: 100 });
      const stepped = await this.#step();
      if (walked.kind === 'none' && stepped.kind === 'idle') return;
    }
    throw new Error('the walks do not end');
  }

  async #changeGrants(reader: Reader): Promise<void> {
    const grants = ['A', 'B', 'All', 'Own'].filter(() => this.#random.below(100) < 40);
    const held = offices.filter(() => this.#random.below(100) < 50);
    await changeConsumer(this.#bed.db, reader.name, { grants, attributes: { OfficeKey: held } });
    reader.grants = grants;
    reader.offices = held;
  }

  async #walk(): Promise<void> {
    const { db, tables } = this.#bed;
    const { rules, archive } = this.#runtime;
    await stepWalk({ db, tables, rules, archive, chunk: 1 + this.#random.below(4) });
  }

  /** What the consumer may see, worked out from the tables as they are and the rules in words. */
  async #truth(reader: Reader): Promise<Map<string, string>> {
    const rows = await readProviderRows(this.#bed.db);
    const truth = new Map<string, string>();
    for (const [key, row] of rows) {
      if (reader.grants.some(feed => this.#inFeed(feed, key, rows, reader.offices))) truth.set(key, row.v);
    }
    return truth;
  }

  #inFeed(
    feed: string,
    key: string,
    rows: ReadonlyMap<string, ProviderRow>,
    held: readonly string[],
  ): boolean {
    const row = rows.get(key);
    const rule = this.#feeds[feed]?.[resourceOf(key)] ?? this.#feeds[feed]?.['*'];
    if (row === undefined || rule === undefined) return false;
    if (rule === true) return true;
    const where = typeof rule === 'string' ? rule : rule.where;
    if (where?.includes('@consumer') && (row.parent === null || !held.includes(row.parent))) return false;
    const allowed = /a in \(([\d,]+)\)/.exec(where ?? '')?.[1];
    if (allowed !== undefined && !allowed.split(',').includes(String(row.a))) return false;
    return typeof rule === 'string' || (row.parent !== null && this.#inFeed(feed, row.parent, rows, held));
  }

  #pick<T>(items: readonly T[]): T {
    const item = items[this.#random.below(items.length)];
    if (item === undefined) throw new Error('nothing to choose from');
    return item;
  }
}

function randomFeeds(random: SeededRandom): FeedsConfig {
  const some = () => `a in (${[0, 1, 2, 3].filter(() => random.below(100) < 60).join(',') || '9'})`;
  return {
    A: { Office: some(), Property: { inherit: 'Office', where: some() }, Media: { inherit: 'Property' } },
    B: { Property: some(), Media: { inherit: 'Property', where: some() } },
    All: { '*': true },
    Own: {
      Property: `ListOfficeKey eq @consumer.OfficeKey and ${some()}`,
      Media: { inherit: 'Property' },
    },
  };
}
