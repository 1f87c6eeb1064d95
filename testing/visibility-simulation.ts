import assert from 'node:assert/strict';
import pg from 'pg';
import type { Viewer } from '../server/base/auth/viewer.ts';
import { type ResourceTable, readResourceTables } from '../server/base/catalog/index.ts';
import type { ResourceConfig } from '../server/base/config/index.ts';
import { connect, type Db, migrate } from '../server/base/db/index.ts';
import { PulsefeedError } from '../server/base/errors.ts';
import { installCapture } from '../server/capture/index.ts';
import {
  dense,
  type EventLog,
  openLog,
  publishRules,
  type Sequencer,
  type StepOutcome,
} from '../server/log/index.ts';
import {
  addConsumer,
  applyFeeds,
  changeConsumer,
  currentWalk,
  type FeedsConfig,
  RuleBook,
  stepWalk,
  VisibilityPolicy,
} from '../server/visibility/index.ts';
import { orderBreach, readFeedPulses, readStored, type StoredRecord } from './pulse-order.ts';
import type { SeededRandom } from './seeded-random.ts';

/** Three levels: offices, their listings, and the photos of those. */
export const resources: readonly ResourceConfig[] = [
  { name: 'Office', table: 'public.office', key: 'OfficeKey' },
  {
    name: 'Property',
    table: 'public.property',
    key: 'ListingKey',
    parents: [{ resource: 'Office', column: 'ListOfficeKey' }],
  },
  {
    name: 'Media',
    table: 'public.media',
    key: 'MediaKey',
    parents: [{ resource: 'Property', column: 'ResourceRecordKey' }],
  },
];

const tables = `
create table office ("OfficeKey" text primary key, a integer not null, v bigint not null);
create table property ("ListingKey" text primary key, "ListOfficeKey" text, a integer not null, v bigint not null);
create table media ("MediaKey" text primary key, "ResourceRecordKey" text, a integer not null, v bigint not null)`;

/** Fills an empty database: schema, provider's tables, capture, resources. */
export async function buildSimulationDatabase(url: string): Promise<void> {
  const db = await connect({ databaseUrl: url, dataDir: '' });
  try {
    await migrate(db);
    await db.script(tables);
    await installCapture(db, await readResourceTables(db, resources));
    await publishRules(db, { resources });
  } finally {
    await db.close();
  }
}

const offices = ['O0', 'O1', 'O2'];
const listings = ['P0', 'P1', 'P2', 'P3'];
const photos = ['M0', 'M1', 'M2', 'M3', 'M4'];
const resourceOf = (key: string) => (key[0] === 'O' ? 'Office' : key[0] === 'P' ? 'Property' : 'Media');
const parentsOf = (key: string) => (key[0] === 'P' ? offices : key[0] === 'M' ? listings : []);
const parentColumn: Record<string, string> = { Property: 'ListOfficeKey', Media: 'ResourceRecordKey' };
const keyColumn: Record<string, string> = { Office: 'OfficeKey', Property: 'ListingKey', Media: 'MediaKey' };

/** A consumer with its copy, which it fills only from what it is served. */
interface Replica {
  readonly name: string;
  readonly viewer: Viewer;
  grants: string[];
  offices: string[];
  cursor: bigint;
  saved: bigint;
  todo: { resource: string; key: string }[];
  readonly copy: Map<string, string>;
}

interface OpenTransaction {
  readonly session: pg.Client;
  readonly locked: Set<string>;
}

/** A row of the provider's tables. */
interface Row {
  readonly parent: string | null;
  readonly a: number;
  readonly v: string;
}

/** A database with the connections that many histories share: making them anew took most of a history's time. */
export interface SimulationBed {
  readonly db: Db;
  readonly tables: readonly ResourceTable[];
  /** Sessions of producers that are in no transaction. */
  readonly idle: pg.Client[];
  openSession(): Promise<pg.Client>;
  /** Empties everything but the schema and the resources. */
  reset(): Promise<void>;
  close(): Promise<void>;
}

/** Opens a database that `buildSimulationDatabase` filled. Histories run on it one after the other. */
export async function openSimulationBed(databaseUrl: string): Promise<SimulationBed> {
  const url = new URL(databaseUrl);
  // No history crashes the server: nothing of it need outlive one.
  url.searchParams.set('options', '-c synchronous_commit=off -c jit=off');
  const db = await connect({ databaseUrl: url.href, dataDir: '', poolSize: 4 });
  const all: pg.Client[] = [];
  return {
    db,
    tables: await readResourceTables(db, resources),
    idle: [],
    async openSession() {
      const client = new pg.Client({ connectionString: url.href, application_name: 'producer' });
      await client.connect();
      all.push(client);
      return client;
    },
    reset: () => db.script(resetSql),
    async close() {
      for (const client of all) await client.end();
      await db.close();
    },
  };
}

const resetSql = `
begin;
delete from office; delete from property; delete from media;
${[
  ...[
    'visibility_walk',
    'consumer_feed',
    'consumer_grant',
    'consumer',
    'event_feed',
    'entity_event',
    'log_time',
  ],
  ...['record_state', 'record_change', 'batch_flip', 'batch_key', 'batch_truncate', 'batch_pulse'],
]
  .map(table => `delete from pulsefeed.${table};`)
  .join(' ')}
delete from pulsefeed.audience where id > 1;
delete from pulsefeed.feed where id > 1;
delete from pulsefeed.feed_definition where id > 1;
update pulsefeed.log_head set last_seq = 0, rule_version = 1, batch_stage = null, batch_xid = null;
delete from pulsefeed.rule_set where version > 1;
commit`;

/** What a history may be made of; every part can be left out to find what a fault needs. */
export interface SimulationOptions {
  readonly bed: SimulationBed;
  readonly random: SeededRandom;
  readonly steps: number;
  /** Called between steps with the log; compaction goes in here. */
  readonly between?: (db: Db) => Promise<void>;
}

/**
 * One random history on a real database: transactions with row locks, rollbacks, re-parenting, cascades, deletions
 * and re-creations, rule edits, grants, revocations, new attributes; six consumers that page at random sizes, fetch
 * late and sometimes crash before they save. At the end every copy must equal what its consumer may see; in each batch
 * and feed RCP-027's order must hold.
 */
export async function simulate(options: SimulationOptions): Promise<{ pulses: number }> {
  await options.bed.reset();
  const simulation = new Simulation(options);
  try {
    await simulation.begin();
    await simulation.run(options.steps);
    return await simulation.finish();
  } finally {
    await simulation.close();
  }
}

class Simulation {
  readonly #random: SeededRandom;
  readonly #db: Db;
  readonly #log: EventLog;
  readonly #tables: readonly ResourceTable[];
  readonly #rules: RuleBook;
  readonly #policy: VisibilityPolicy;
  readonly #bed: SimulationBed;
  readonly #between: ((db: Db) => Promise<void>) | undefined;
  #sequencer: Sequencer;
  #open: OpenTransaction[] = [];
  #replicas: Replica[] = [];
  #feeds: FeedsConfig = {};
  #version = 0n;
  #head = 0n;
  /** What was stored before the batch in hand, which may take several steps. */
  #stored: ReadonlyMap<string, StoredRecord> = new Map();

  constructor(options: SimulationOptions) {
    const { db, tables: found } = options.bed;
    this.#random = options.random;
    this.#bed = options.bed;
    this.#between = options.between;
    this.#db = db;
    this.#log = openLog(db);
    this.#tables = found;
    this.#rules = new RuleBook(db, resources, found);
    this.#policy = new VisibilityPolicy(this.#rules);
    this.#sequencer = this.#newSequencer();
  }

  async close(): Promise<void> {
    for (const { session } of this.#open) await this.#release(session, 'rollback');
    await this.#sequencer.close();
  }

  async #release(session: pg.Client, end: 'commit' | 'rollback'): Promise<void> {
    const { command } = await session.query(end);
    assert.equal(command, end.toUpperCase());
    this.#bed.idle.push(session);
  }

  async begin(): Promise<void> {
    this.#feeds = this.#randomFeeds();
    await applyFeeds(this.#db, this.#feeds, resources, this.#tables);
    for (const [index, grants] of [['A'], ['B'], ['All'], ['A', 'B'], ['Own'], ['Own', 'B']].entries()) {
      await this.#addReplica(`consumer${index}`, grants, index >= 4 ? [offices[index - 4] ?? 'O0'] : ['O2']);
    }
  }

  /** One step of the sequencer; when it ended a batch, the order in each feed is checked. */
  async #step(): Promise<StepOutcome> {
    const outcome = await this.#sequencer.step();
    if (outcome.kind !== 'numbered') return outcome;
    const [row] = await this.#db.query<{ open: boolean }>({
      text: 'select batch_stage is not null as open from pulsefeed.log_head',
    });
    if (row?.open !== false) return outcome;
    const stored = await readStored(this.#db);
    const pulses = await readFeedPulses(this.#db, this.#head);
    assert.equal(orderBreach(this.#stored, stored, pulses), undefined);
    this.#stored = stored;
    this.#head = (await this.#log.head()).head;
    return outcome;
  }

  async #addReplica(name: string, grants: string[], held: string[]): Promise<void> {
    const id = await addConsumer(this.#db, {
      name,
      clientId: name,
      secretHash: '',
      scopes: ['read'],
      attributes: { OfficeKey: held },
      grants,
    });
    this.#replicas.push({
      name,
      viewer: { consumerId: id, consumer: name, scopes: new Set(['read']) },
      grants,
      offices: held,
      cursor: 0n,
      saved: 0n,
      todo: [],
      copy: new Map(),
    });
  }

  #newSequencer(): Sequencer {
    return this.#log.sequence({
      loadSources: () => this.#rules.load(),
      numbering: dense,
      // Small, so that flips and transactions outgrow a step.
      batchSize: 2 + this.#random.below(8),
    });
  }

  async run(steps: number): Promise<void> {
    for (let step = 0; step < steps; step += 1) {
      const x = this.#random.below(100);
      if (x < 42) await this.#producerStep();
      else if (x < 58) await this.#step();
      else if (x < 88) await this.#consumerStep(this.#pick(this.#replicas));
      else if (x < 91) await this.#editRules();
      else if (x < 94) await this.#changeGrants(this.#pick(this.#replicas));
      else if (x < 98) await this.#walk();
      else {
        await this.#sequencer.close();
        this.#sequencer = this.#newSequencer();
      }
      await this.#between?.(this.#db);
    }
  }

  /** Ends what is open, numbers what waits, lets everybody read to the head, and compares. */
  async finish(): Promise<{ pulses: number }> {
    for (const transaction of [...this.#open]) await this.#end(transaction, true);
    for (;;) {
      const outcome = await this.#step();
      if (outcome.kind === 'numbered') continue;
      if ((await currentWalk(this.#db)) === undefined && outcome.kind === 'idle') break;
      await this.#walk();
    }
    await this.#between?.(this.#db);
    const { head } = await this.#log.head();
    for (const replica of this.#replicas) {
      for (let round = 0; replica.cursor < head || replica.todo.length > 0; round += 1) {
        assert.ok(round < 5_000, `${replica.name} does not reach the head`);
        await this.#consumerStep(replica, true);
      }
      assert.deepEqual(
        Object.fromEntries([...replica.copy].sort()),
        Object.fromEntries([...(await this.#truth(replica))].sort()),
        `the copy of ${replica.name} (${replica.grants}, ${replica.offices}) differs; ${this.#random.seed}`,
      );
    }
    return { pulses: Number(head) };
  }

  async #producerStep(): Promise<void> {
    const x = this.#random.below(100);
    if (this.#open.length < 3 && x < 30) {
      const session = this.#bed.idle.pop() ?? (await this.#bed.openSession());
      await session.query('begin');
      this.#open.push({ session, locked: new Set() });
    } else if (this.#open.length > 0 && x < 75) await this.#write(this.#pick(this.#open));
    else if (this.#open.length > 0) await this.#end(this.#pick(this.#open), this.#random.below(100) < 93);
  }

  async #end(transaction: OpenTransaction, commit: boolean): Promise<void> {
    this.#open = this.#open.filter(other => other !== transaction);
    await this.#release(transaction.session, commit ? 'commit' : 'rollback');
  }

  /** One change of a record that no other open transaction has touched: such a write would wait for it. */
  async #write(transaction: OpenTransaction): Promise<void> {
    const x = this.#random.below(100);
    const key = this.#pick(x < 15 ? offices : x < 55 ? listings : photos);
    if (!this.#lock(transaction, key)) return;
    const { session } = transaction;
    const resource = resourceOf(key);
    const table = resource.toLowerCase();
    this.#version += 1n;
    const a = this.#random.below(4);
    const parent = parentsOf(key).length === 0 ? null : this.#pick(parentsOf(key));
    const kind = this.#random.below(100);
    if (kind < 22) {
      const cascade = this.#random.below(100) < 60;
      await this.#delete(transaction, key, cascade);
      return;
    }
    const column = parentColumn[resource];
    const keyName = keyColumn[resource];
    const columns = column === undefined ? `"${keyName}", a, v` : `"${keyName}", "${column}", a, v`;
    const values = column === undefined ? [key, a, this.#version] : [key, parent, a, this.#version];
    const reparent = column !== undefined && kind > 70 ? `, "${column}" = excluded."${column}"` : '';
    const recolour = kind < 65 ? ', a = excluded.a' : '';
    await session.query(
      `insert into ${table} (${columns}) values (${values.map((_, n) => `$${n + 1}`)})
       on conflict ("${keyName}") do update set v = excluded.v${recolour}${reparent}`,
      values,
    );
  }

  /** Deletes a record and, as a cascade does it, its children after it. */
  async #delete(transaction: OpenTransaction, key: string, cascade: boolean): Promise<void> {
    const { session } = transaction;
    const resource = resourceOf(key);
    if (cascade && resource !== 'Media') {
      const child = resource === 'Office' ? 'property' : 'media';
      const childResource = resource === 'Office' ? 'Property' : 'Media';
      const { rows } = await session.query<{ key: string }>(
        `select "${keyColumn[childResource]}" as key from ${child} where "${parentColumn[childResource]}" = $1`,
        [key],
      );
      if (rows.some(row => !this.#lock(transaction, row.key))) return;
      await session.query(`delete from ${resource.toLowerCase()} where "${keyColumn[resource]}" = $1`, [key]);
      for (const row of rows) await this.#delete(transaction, row.key, true);
      return;
    }
    await session.query(`delete from ${resource.toLowerCase()} where "${keyColumn[resource]}" = $1`, [key]);
  }

  #lock(transaction: OpenTransaction, key: string): boolean {
    if (this.#open.some(other => other !== transaction && other.locked.has(key))) return false;
    transaction.locked.add(key);
    return true;
  }

  async #consumerStep(replica: Replica, steady = false): Promise<void> {
    const next = replica.todo[0];
    if (next !== undefined) {
      if (!steady && this.#random.below(100) < 5) {
        // Crash: what was read since the cursor was saved is read again.
        replica.todo = [];
        replica.cursor = replica.saved;
        return;
      }
      if (!steady && this.#random.below(100) < 40) return;
      replica.todo.shift();
      const version = await this.#fetch(replica.viewer, next.resource, next.key);
      if (version === undefined) replica.copy.delete(next.key);
      else replica.copy.set(next.key, version);
    } else {
      const limit = 1 + this.#random.below(4);
      const page = await this.#policy.read(replica.viewer, async ({ held }) => {
        const found = await this.#log.read({
          where: { text: 'e.seq > $1', values: [replica.cursor] },
          above: replica.cursor,
          held,
          limit,
        });
        return { ruleVersion: found.ruleVersion, result: found };
      });
      replica.todo = page.pulses.map(({ resource, key }) => ({ resource, key }));
      // A short page was scanned to the head of its snapshot (PROGRESS).
      replica.cursor = page.pulses.length < limit ? page.head : (page.pulses.at(-1)?.sequence ?? page.head);
    }
    if (replica.todo.length === 0) replica.saved = replica.cursor;
  }

  /** What a GET of the record answers: its version, or undefined for 404. */
  async #fetch(viewer: Viewer, resource: string, key: string): Promise<string | undefined> {
    return this.#policy.read(viewer, async ({ records }) => {
      const visible = records(resource, 2);
      const [row] = await this.#db.query<{ version: number; v: string | null }>({
        text: `
select (select rule_version from pulsefeed.log_head) as version,
  (select t.v::text from ${resource.toLowerCase()} t where t."${keyColumn[resource]}" = $1 and ${visible.text}) as v`,
        values: [key, ...visible.values],
      });
      return { ruleVersion: row?.version ?? 0, result: row?.v ?? undefined };
    });
  }

  async #editRules(): Promise<void> {
    if ((await currentWalk(this.#db)) !== undefined) return;
    const feeds = this.#randomFeeds();
    try {
      await applyFeeds(this.#db, feeds, resources, this.#tables);
      this.#feeds = feeds;
    } catch (error) {
      // What the edit before queued is not numbered yet: the operator tries again later.
      if (!(error instanceof PulsefeedError) || error.code !== 'EE-204') throw error;
    }
  }

  async #changeGrants(replica: Replica): Promise<void> {
    const all = ['A', 'B', 'All', 'Own'];
    const grants = all.filter(() => this.#random.below(100) < 40);
    const held = offices.filter(() => this.#random.below(100) < 50);
    await changeConsumer(this.#db, replica.name, { grants, attributes: { OfficeKey: held } });
    replica.grants = grants;
    replica.offices = held;
  }

  async #walk(): Promise<void> {
    await stepWalk({
      db: this.#db,
      rules: this.#rules,
      tables: this.#tables,
      chunk: 1 + this.#random.below(4),
    });
  }

  #randomFeeds(): FeedsConfig {
    const some = () => `a in (${[0, 1, 2, 3].filter(() => this.#random.below(100) < 60).join(',') || '9'})`;
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

  /** What the consumer may see, worked out from the tables as they are and the rules in words. */
  async #truth(replica: Replica): Promise<Map<string, string>> {
    const rows = new Map<string, Row>();
    for (const { name } of resources) {
      const parent = parentColumn[name];
      for (const row of await this.#db.query<{ key: string; parent: string | null; a: number; v: bigint }>({
        text: `select "${keyColumn[name]}" as key, ${parent === undefined ? 'null' : `"${parent}"`} as parent, a, v
               from ${name.toLowerCase()}`,
      })) {
        rows.set(row.key, { parent: row.parent, a: row.a, v: row.v.toString() });
      }
    }
    const truth = new Map<string, string>();
    for (const [key, row] of rows) {
      if (replica.grants.some(feed => this.#inFeed(feed, key, rows, replica.offices))) truth.set(key, row.v);
    }
    return truth;
  }

  #inFeed(feed: string, key: string, rows: ReadonlyMap<string, Row>, held: readonly string[]): boolean {
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
