import { issueConsumer } from '../server/access/index.ts';
import type { Scope } from '../server/base/auth/viewer.ts';
import { type ConfigFile, loadConfig, type Settings } from '../server/base/config/index.ts';
import { connect } from '../server/base/db/index.ts';
import { createReporter } from '../server/base/report.ts';
import { openDatabase, openRuntime, type Runtime } from '../server/runtime.ts';
import { serve } from '../server/serve.ts';
import { applyFeeds } from '../server/visibility/index.ts';
import { atTestEnd } from './cleanup.ts';
import { testDatabase } from './postgres.ts';
import { buildSimulationDatabase, resources } from './simulated-provider.ts';
import { watchedDatabase } from './watched-database.ts';

/** For tests: the tables of the simulation with feeds on them, served by one or more processes' worth of server. */
export interface ServedFeeds {
  readonly runtime: Runtime;
  /** Addresses of the servers; all on one database. */
  readonly urls: readonly string[];
  write(sql: string): Promise<void>;
  /** Numbers what waits. */
  number(): Promise<void>;
  /** Issues a consumer; the token is its long-lived one. */
  consumer(
    name: string,
    feeds: readonly string[],
    scopes?: readonly Scope[],
  ): ReturnType<typeof issueConsumer>;
}

/** What may differ from one office, IDX and no limits. */
export interface ServedFeedsOptions {
  readonly feeds?: NonNullable<ConfigFile['feeds']>;
  readonly anonymous?: readonly string[];
  readonly settings?: Partial<Settings>;
  readonly servers?: number;
  /** Told of the text of each statement that a server runs. */
  readonly onStatement?: (text: string) => void;
}

const idx = { IDX: { Property: 'a eq 1', Media: { inherit: 'Property' } } };

/** Serves; everything ends with the test. */
export async function serveFeeds(options: ServedFeedsOptions = {}): Promise<ServedFeeds> {
  const { feeds = idx, anonymous = [], settings = {}, servers = 1, onStatement } = options;
  const { url, drop } = await testDatabase({ template: buildSimulationDatabase, name: 'simulation' });
  atTestEnd(drop);
  const loaded = await loadConfig({ env: { DATABASE_URL: url }, cwd: import.meta.dirname });
  const config = {
    ...loaded,
    resources,
    file: { resources, feeds, anonymous },
    settings: { ...loaded.settings, sequencer: false, host: '127.0.0.1', ...settings },
  };
  const db = await connect({ databaseUrl: url, dataDir: '', poolSize: 4 });
  atTestEnd(() => db.close());
  const first = await openRuntime(config, db);
  await applyFeeds(db, feeds, resources, first.tables);
  await db.query({ text: 'update pulsefeed.visibility_walk set finished_at = now()' });
  const urls: string[] = [];
  for (let n = 0; n < servers; n += 1) {
    const own = await openDatabase(config, `served ${n}`);
    atTestEnd(() => own.close());
    const watched = onStatement === undefined ? own : watchedDatabase(own, onStatement);
    const served = await serve(await openRuntime(config, watched), createReporter('silent'), { port: 0 });
    atTestEnd(() => served.stop());
    urls.push(served.url);
  }
  return {
    runtime: first,
    urls,
    write: sql => db.transaction(tx => tx.script(sql)),
    async number() {
      const sequencer = first.sequencer();
      try {
        for (let step = 0; (await sequencer.step()).kind === 'numbered'; step += 1)
          if (step > 1_000) throw new Error('the sequencer does not come to rest');
      } finally {
        await sequencer.close();
      }
    },
    consumer: (name, granted, scopes = ['read']) =>
      issueConsumer(db, { name, feeds: granted, attributes: {}, scopes }),
  };
}
