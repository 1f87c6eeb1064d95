import type { Viewer } from '../server/base/auth/viewer.ts';
import { type ResourceTable, readResourceTables } from '../server/base/catalog/index.ts';
import { connect, type Db } from '../server/base/db/index.ts';
import { dense, type EventLog, openLog, type Sequencer } from '../server/log/index.ts';
import {
  addConsumer,
  applyFeeds,
  type FeedsConfig,
  RuleBook,
  stepWalk,
  VisibilityPolicy,
} from '../server/visibility/index.ts';
import { atTestEnd } from './cleanup.ts';
import { testDatabase } from './postgres.ts';
import { buildSimulationDatabase, resources } from './simulated-provider.ts';

/** For tests: offices, listings and photos with feeds on them, driven step by step. Closed when the test ends. */
export interface VisibilityFixture {
  readonly url: string;
  readonly db: Db;
  readonly log: EventLog;
  readonly tables: readonly ResourceTable[];
  readonly rules: RuleBook;
  readonly policy: VisibilityPolicy;
  readonly sequencer: Sequencer;
  /** Runs SQL of the provider in one transaction. */
  write(sql: string): Promise<void>;
  apply(feeds: FeedsConfig): Promise<void>;
  /** Steps walks until none is open; numbers nothing. */
  walk(): Promise<void>;
  /** Numbers what waits. */
  number(): Promise<void>;
  /** Walks and numbers until nothing is left. */
  settle(): Promise<void>;
  consumer(name: string, grants: readonly string[], offices?: readonly string[]): Promise<Consumer>;
}

/** What a test's consumer does. */
export interface Consumer {
  readonly name: string;
  readonly viewer: Viewer;
  /** Whether a GET of the record answers 200. */
  sees(key: string): Promise<boolean>;
  /** The keys of the pulses above `after`, in order. */
  pulses(after?: bigint): Promise<string[]>;
}

const tableOf: Readonly<Record<string, { name: string; resource: string; key: string }>> = {
  O: { name: 'office', resource: 'Office', key: 'OfficeKey' },
  P: { name: 'property', resource: 'Property', key: 'ListingKey' },
  M: { name: 'media', resource: 'Media', key: 'MediaKey' },
};

/** Opens the fixture with these feeds applied to an empty log. */
export async function visibilityFixture(feeds: FeedsConfig, batchSize = 100): Promise<VisibilityFixture> {
  const { url, drop } = await testDatabase({ template: buildSimulationDatabase, name: 'simulation' });
  const db = await connect({ databaseUrl: url, dataDir: '', poolSize: 4 });
  const tables = await readResourceTables(db, resources);
  const rules = new RuleBook(db, resources, tables);
  const log = openLog(db);
  const sequencer = log.sequence({ loadSources: () => rules.load(), numbering: dense, batchSize });
  atTestEnd(async () => {
    await sequencer.close();
    await db.close();
    await drop();
  });
  const policy = new VisibilityPolicy(rules);
  const fixture: VisibilityFixture = {
    url,
    db,
    log,
    tables,
    rules,
    policy,
    sequencer,
    write: sql => db.transaction(tx => tx.script(sql)),
    async apply(wanted) {
      await applyFeeds(db, wanted, resources, tables);
    },
    async walk() {
      for (let step = 0; (await stepWalk({ db, rules, tables, chunk: 100 })).kind === 'queued'; step += 1)
        if (step > 1_000) throw new Error('the walk does not end');
    },
    async number() {
      for (let step = 0; (await sequencer.step()).kind !== 'idle'; step += 1)
        if (step > 1_000) throw new Error('the sequencer does not come to rest');
    },
    async settle() {
      await fixture.walk();
      await fixture.number();
    },
    consumer: (name, grants, offices = []) => openConsumer(fixture, name, grants, offices),
  };
  await fixture.apply(feeds);
  await fixture.settle();
  return fixture;
}

async function openConsumer(
  { db, log, policy }: VisibilityFixture,
  name: string,
  grants: readonly string[],
  offices: readonly string[],
): Promise<Consumer> {
  const consumerId = await addConsumer(db, {
    name,
    clientId: name,
    secretHash: '',
    scopes: ['read'],
    attributes: { OfficeKey: offices },
    grants,
  });
  const viewer: Viewer = { consumerId, consumer: name, scopes: new Set(['read']) };
  return {
    name,
    viewer,
    sees: key => served(db, policy, viewer, key),
    pulses: async (after = 0n) => {
      const page = await policy.read(viewer, async ({ held }) => {
        const found = await log.read({
          where: { text: 'e.seq > $1', values: [after] },
          above: after,
          held,
          limit: 10_000,
        });
        return { ruleVersion: found.ruleVersion, result: found };
      });
      return page.pulses.map(({ key }) => key);
    },
  };
}

async function served(db: Db, policy: VisibilityPolicy, viewer: Viewer, key: string): Promise<boolean> {
  const table = tableOf[key[0] ?? ''];
  if (table === undefined) throw new Error(`no table has ${key}`);
  return policy.read(viewer, async ({ records }) => {
    const visible = records(table.resource, 2);
    const [row] = await db.query<{ version: number; found: boolean }>({
      text: `
select (select rule_version from pulsefeed.log_head) as version,
  exists (select from ${table.name} t where t."${table.key}" = $1 and ${visible.text}) as found`,
      values: [key, ...visible.values],
    });
    return { ruleVersion: row?.version ?? 0, result: row?.found ?? false };
  });
}
