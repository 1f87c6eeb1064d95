import { readFileSync } from 'node:fs';
import { hostname } from 'node:os';
import {
  ArchiveLoop,
  CompactionLoop,
  parseLag,
  parseTombstones,
  stepSizes,
  TombstoneLoop,
  tombstonesNotice,
} from '../compaction/index.ts';
import {
  type Authenticate,
  adminRouter,
  createAuthenticate,
  oauthRouter,
  rateLimit,
} from './access/index.ts';
import { requireScope } from './base/auth/viewer.ts';
import type { Settings } from './base/config/index.ts';
import { pendingMigrations } from './base/db/index.ts';
import { fromDatabase, PulsefeedError } from './base/errors.ts';
import { createHttpApp } from './base/http/app.ts';
import { healthRouter, type ReadinessCheck } from './base/http/health.ts';
import { listenHttp } from './base/http/listen.ts';
import { packageFile } from './base/package-root.ts';
import type { Reporter } from './base/report.ts';
import { ingestRouter } from './ingest/index.ts';
import { defaultPace, numberedWrites, SequencerLoop } from './log/index.ts';
import { odataRouter } from './odata/index.ts';
import { openPush, type PushWorker } from './push/index.ts';
import { dictionarySets, historySets, recordSets } from './records/index.ts';
import { type Runtime, refuseUnappliedFeeds } from './runtime.ts';
import { showToAnonymous, WalkLoop } from './visibility/index.ts';

/** A running server. */
export interface Served {
  readonly url: string;
  /** Ends requests in flight, the step in hand and everything else this server started; not the database. */
  stop(): Promise<void>;
}

/** What may differ from the configuration. */
export interface ServeOverrides {
  readonly port?: number;
}

/** Starts HTTP and, unless told otherwise, the sequencer. @throws EE-700 when the port cannot be had. */
export async function serve(
  runtime: Runtime,
  reporter: Reporter,
  overrides: ServeOverrides = {},
): Promise<Served> {
  const { settings } = runtime.config;
  const { observe } = reporter;
  await refuseUnappliedFeeds(runtime);
  await showToAnonymous(runtime.db, runtime.config.file.anonymous ?? []);
  const authenticate = createAuthenticate(runtime.db, settings, () => performance.now());
  const loop = settings.sequencer ? new SequencerLoop(runtime.sequencer(), observe, defaultPace) : undefined;
  const write = numberedWrites(runtime.db, {
    mostMs: settings.writeWaitMs,
    committed: () => loop?.poke(),
  });
  const records = [
    ...recordSets(runtime.db, runtime.policy, runtime.tables, settings.machineId, write),
    ...historySets(runtime.db, runtime.policy, runtime.tables),
  ];
  const push = openPush({ ...runtime, observe }, settings);
  const odata = odataRouter({
    log: runtime.log,
    policy: runtime.policy,
    sets: [...records, ...dictionarySets(records), ...(push?.sets ?? [])],
    transaction: work => write(work),
    tokenKey: settings.tokenKey ?? (await storedTokenKey(runtime)),
    authenticate,
    countRequest: rateLimit(runtime.db, settings.requestsPerMinute),
    settings,
  });
  const app = createHttpApp(
    {
      observe,
      trustProxy: settings.trustProxy,
      corsOrigins: settings.corsOrigins,
      now: () => performance.now(),
    },
    [
      healthRouter(readinessChecks(runtime, loop), reporter.registry, metricsGuard(runtime, authenticate)),
      ingestRouter({
        log: runtime.log,
        observe,
        authenticate,
        maxBodyBytes: settings.maxBodyBytes,
        resources: new Set(runtime.config.resources.map(({ name }) => name)),
        knownFeeds: async () => {
          const { feedsConfigured, ids } = await runtime.rules.current();
          return feedsConfigured ? new Set(ids.keys()) : undefined;
        },
        poke: () => loop?.poke(),
      }),
      oauthRouter({ db: runtime.db, tokenLifetimeS: settings.tokenLifetimeS, now: () => performance.now() }),
      adminRouter({ db: runtime.db, rules: runtime.rules, authenticate }),
      odata,
    ],
  );
  const http = await listen(app, settings, overrides.port ?? settings.port);
  const walks = loop === undefined ? undefined : new WalkLoop(runtime, observe, () => loop.poke());
  const compaction = compactionLoop(runtime, observe);
  const tombstones = tombstoneLoop(runtime, observe);
  const archiving = archiveLoop(runtime, observe);
  loop?.start();
  walks?.start();
  compaction?.start();
  tombstones?.start();
  archiving?.start();
  const worker = settings.pushWorker
    ? push?.worker(`serve ${hostname()} ${process.pid}`, records)
    : undefined;
  await worker?.start();
  observe({ kind: 'ServerStarted', url: http.url, engine: runtime.db.engine });
  return {
    url: http.url,
    async stop() {
      await http.stop(settings.shutdownMs);
      await worker?.stop(settings.shutdownMs);
      push?.close();
      await compaction?.stop();
      await tombstones?.stop();
      await archiving?.stop();
      await walks?.stop();
      await loop?.stop();
      observe({ kind: 'ServerStopped' });
    },
  };
}

/** Delivers webhooks until stopped, without serving anything. @throws EE-504 when push is off. */
export async function startPushWorker(
  runtime: Runtime,
  { observe }: Reporter,
  name: string,
): Promise<Pick<PushWorker, 'stop'>> {
  const { settings } = runtime.config;
  const push = openPush({ ...runtime, observe }, settings);
  if (push === undefined) throw new PulsefeedError('EE-504', 'PULSEFEED_SECRET_KEY is not set.');
  await refuseUnappliedFeeds(runtime);
  const records = recordSets(runtime.db, runtime.policy, runtime.tables, settings.machineId);
  const worker = push.worker(name, records);
  await worker.start();
  return {
    async stop() {
      await worker.stop(settings.shutdownMs);
      push.close();
    },
  };
}

/** Where the sequencer is left to other processes, compaction is too. */
function compactionLoop(
  { config, db, log }: Runtime,
  observe: Reporter['observe'],
): CompactionLoop | undefined {
  const lag = parseLag(config.settings.compactionLag);
  if (lag === undefined || !config.settings.sequencer) return undefined;
  return new CompactionLoop({
    log,
    db,
    lag,
    limit: stepSizes[db.engine],
    observe,
    now: () => performance.now(),
  });
}

/** Every server says so, whether it drops itself or another one does: it is consumers that have to know. */
function tombstoneLoop({ config, db }: Runtime, observe: Reporter['observe']): TombstoneLoop | undefined {
  const { tombstones, sequencer } = config.settings;
  const olderThanS = parseTombstones(tombstones);
  if (olderThanS === undefined) return undefined;
  observe({ kind: 'Notice', message: tombstonesNotice(tombstones) });
  return sequencer ? new TombstoneLoop({ db, olderThanS, limit: stepSizes[db.engine], observe }) : undefined;
}

/** Where the sequencer is left to other processes, archiving is too. */
function archiveLoop(
  { config, db, archive }: Runtime,
  observe: Reporter['observe'],
): ArchiveLoop | undefined {
  const { archiveWindow, sequencer } = config.settings;
  const window = parseLag(archiveWindow);
  if (archive.store === undefined || window === undefined || !sequencer) return undefined;
  return new ArchiveLoop({ db, archive, window, observe });
}

async function listen(app: ReturnType<typeof createHttpApp>, settings: Settings, port: number) {
  try {
    return await listenHttp(app, {
      host: settings.host,
      port,
      maxHeaderBytes: settings.maxHeaderBytes,
      requestTimeoutMs: settings.requestTimeoutMs,
    });
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : '';
    const reason =
      code === 'EADDRINUSE'
        ? 'is in use by another program'
        : code === 'EACCES'
          ? 'needs more privileges'
          : code;
    throw new PulsefeedError(
      'EE-700',
      `Port ${port} on ${settings.host} ${reason}; choose another with --port.`,
      {
        cause: error,
      },
    );
  }
}

function readinessChecks(runtime: Runtime, loop: SequencerLoop | undefined): ReadinessCheck[] {
  const { maxLagMs } = runtime.config.settings;
  return [
    {
      name: 'migrations',
      async run() {
        const pending = await pendingMigrations(runtime.db).catch((error: unknown) => {
          throw fromDatabase(error);
        });
        return pending.length === 0 ? undefined : `still to run: ${pending.join(', ')}`;
      },
    },
    {
      name: 'sequencer',
      async run() {
        if (loop?.state.outcome === 'rules-differ') {
          return 'EE-301: the log was set up with other resources; run `pulsefeed migrate` and restart';
        }
        const { waitingMs } = await runtime.log.head().catch((error: unknown) => {
          throw fromDatabase(error);
        });
        return waitingMs <= maxLagMs
          ? undefined
          : `EE-302: the oldest change has waited ${Math.round(waitingMs / 1_000)} s for its number`;
      },
    },
  ];
}

/**
 * Metrics count changes, pulses and subscriptions of everybody, also of what a consumer may not see: once there are
 * feeds they are the operator's, for a token with the scope `admin`.
 */
function metricsGuard(runtime: Runtime, authenticate: Authenticate) {
  return async (authorization: string | undefined): Promise<void> => {
    const configured = runtime.config.file.feeds !== undefined;
    if (!configured && !(await runtime.rules.current()).feedsConfigured) return;
    requireScope(await authenticate(authorization), 'admin');
  };
}

/** The key that the migration made; every process on this database signs with it. */
async function storedTokenKey(runtime: Runtime): Promise<string> {
  const [row] = await runtime.db.query<{ value: string }>({
    text: `select value from pulsefeed.secret where name = 'token-key'`,
  });
  if (row === undefined) throw new PulsefeedError('EE-300', 'The database holds no key for tokens.');
  return row.value;
}

/** Version of this package. */
export function packageVersion(): string {
  const manifest = JSON.parse(readFileSync(packageFile('package.json'), 'utf8')) as { version: string };
  return manifest.version;
}
