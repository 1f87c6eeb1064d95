import assert from 'node:assert/strict';
import { seed } from '../seeds/index.ts';
import { issueConsumer } from '../server/access/index.ts';
import { type Config, type ConfigFile, loadConfig } from '../server/base/config/index.ts';
import { createReporter } from '../server/base/report.ts';
import { installCapture } from '../server/capture/index.ts';
import { createSample, demoResources, demoSeed } from '../server/demo/index.ts';
import { migrateAndPublish, openDatabase, openRuntime } from '../server/runtime.ts';
import { serve } from '../server/serve.ts';
import { atTestEnd } from '../testing/cleanup.ts';
import { embeddedFolder } from '../testing/embedded-folder.ts';
import { testDatabase } from '../testing/postgres.ts';
import { modes } from './rule.ts';
import { runConformance } from './runner.ts';
import type { CanarySettings } from './settings.ts';
import { quick, red } from './testing/run-against.ts';

/** Rules that this server on loopback gives no occasion for. */
const unexercised = [
  'core-2.0.0/filter-enum: no record resource has an Edm.EnumType field with a value in its first 25 records',
  'core-2.0.0/https: a loopback address tells nothing of the deployment',
  'core-2.1.0/tls-1.2: the service is reached by plain http',
];

const resources = demoResources.map(resource => ({ ...resource, writable: true }));

/** The consumer sees no open house: its numbers have gaps. */
const feeds: NonNullable<ConfigFile['feeds']> = {
  Part: { '*': true, OpenHouse: "OpenHouseKey eq 'none'" },
  Rest: { OpenHouse: true },
};

for (const engine of ['PostgreSQL', 'PGlite'] as const) {
  describe(`our own server on ${engine}`, function () {
    this.timeout(180_000);

    it('keeps every rule in every mode', async () => {
      const { url, clientId, secret, canary } = await serveSample(engine);
      for (const mode of modes) {
        const report = await runConformance({
          ...quick,
          ...{ url, mode, clientId, clientSecret: secret, tokenUrl: `${url}/oauth/token` },
          canary: { ...canary, waitMs: 5_000, pollMs: 20 },
          // The schedule is for a day's outage; the suite waits seconds.
          push: { ...quick.push, waitMs: 10_000, subscription: { RetrySchedule: [1] } },
        });
        assert.deepEqual(red(report), [], mode);
        assert.equal(report.conformant, 'yes', `${mode}: ${report.problem}`);
        const skipped = report.rules.filter(({ outcome }) => outcome === 'skip');
        assert.deepEqual(
          skipped.map(({ id, reason }) => `${id}: ${reason}`).filter(line => !unexercised.includes(line)),
          [],
          mode,
        );
      }
    });
  });
}

/** The demo's sample for a consumer of one of two feeds, in small pages, with numbers that no double can hold. */
async function serveSample(engine: 'PostgreSQL' | 'PGlite'): Promise<{
  readonly url: string;
  readonly clientId: string;
  readonly secret: string;
  readonly canary: CanarySettings;
}> {
  const env = engine === 'PostgreSQL' ? { DATABASE_URL: await emptyDatabase() } : {};
  const { path } = await embeddedFolder('own-server');
  const loaded = await loadConfig({ env, cwd: path });
  const config: Config = {
    ...loaded,
    resources,
    file: { resources, feeds },
    settings: {
      ...loaded.settings,
      ...{ dataDir: path, host: '127.0.0.1', numbering: 'snowflake', maxPageSize: 100 },
      ...{ secretKey: 'a secret of 32 characters or more', pushAllow: ['127.0.0.0/8'] },
    },
  };
  const db = await openDatabase(config, 'pulsefeed serve');
  atTestEnd(() => db.close());
  await createSample(db, { seed: demoSeed, listings: 40 });
  await migrateAndPublish(config, db);
  const runtime = await openRuntime(config, db);
  await installCapture(db, runtime.tables);
  await seed(runtime);
  const served = await serve(runtime, createReporter('silent'), { port: 0 });
  atTestEnd(() => served.stop());
  const [agent] = await db.query<{ key: string; office: string }>({
    text: 'select "MemberKey" as key, "OfficeKey" as office from member limit 1',
  });
  const consumer = await issueConsumer(db, {
    ...{ name: 'canary', feeds: ['Part'], attributes: {}, scopes: ['read', 'write'] },
  });
  const stamps = {
    OriginalEntryTimestamp: '2026-01-01T00:00:00Z',
    ModificationTimestamp: '2026-01-01T00:00:00Z',
  };
  return {
    ...{ url: served.url, clientId: consumer.clientId, secret: consumer.secret },
    canary: {
      resource: 'Property',
      create: {
        ...{ ListingId: 'canary', StandardStatus: 'Active', ListPrice: 1, PhotosCount: 0, ...stamps },
        ...{
          InternetEntireListingDisplayYN: true,
          ListAgentKey: agent?.key ?? '',
          ListOfficeKey: agent?.office ?? '',
        },
      },
      child: {
        resource: 'Media',
        create: {
          ...{
            ResourceName: 'Property',
            ResourceRecordKey: '{parent}',
            MediaURL: 'https://example.com/1.jpg',
            Order: 1,
          },
          ...{
            ModificationTimestamp: stamps.ModificationTimestamp,
            MediaModificationTimestamp: stamps.ModificationTimestamp,
          },
        },
      },
    },
  };
}

async function emptyDatabase(): Promise<string> {
  const { url, drop } = await testDatabase();
  atTestEnd(drop);
  return url;
}
