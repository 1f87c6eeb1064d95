import type { Config } from '../base/config/index.ts';
import type { Db } from '../base/db/index.ts';
import type { Runtime } from '../runtime.ts';
import type { DemoContext, DemoOptions } from './context.ts';
import {
  describeSample,
  foreignDataText,
  portTakenText,
  type SampleCounts,
  welcomeText,
} from './demo-text.ts';
import { LiveEdits, processTiming } from './live-edits.ts';
import { portIsFree } from './port.ts';
import { openProgressBar } from './progress.ts';
import { demoResources } from './resources.ts';
import { isPlainKey } from './sample-keys.ts';
import { createSample, demoSeed } from './sample-mls.ts';
import { type FoundSample, findSample } from './sample-state.ts';

/** How many listings a sample has unless told otherwise. */
export const defaultListings = 2_000;

/** A few records change every so many milliseconds: often enough to be seen, rarely enough to be followed. */
const editEveryMs = 3_000;

/**
 * Runs the demo until the user stops it: makes the sample if it is not there, seeds the feed, serves it and keeps
 * editing. The next run in the same data directory goes on with the same data and numbers. It works on the embedded
 * database only, whatever DATABASE_URL says, and never touches tables it did not make.
 *
 * Returns the exit code: 0 when it was stopped, also while still preparing; 1 when the port or the data directory
 * is somebody else's.
 * @throws EE-700 for settings that cannot be, EE-701 when another process owns the data directory.
 */
export async function runDemo(options: DemoOptions, context: DemoContext): Promise<number> {
  const stopping = new AbortController();
  const stopped = context.signals().then(() => stopping.abort());
  const config = demoConfig(await context.loadConfig(options.flags));
  const { host, port, dataDir } = config.settings;
  const errors = context.errorStream ?? process.stderr;
  if (!(await portIsFree(host, port))) {
    errors.write(portTakenText(host, port));
    return 1;
  }
  const db = await context.openDatabase(config, 'pulsefeed demo');
  try {
    const found = await findSample(db);
    if (found.kind === 'foreign') {
      errors.write(foreignDataText(dataDir, found.what));
      return 1;
    }
    const runtime = await prepare(options, context, config, db, found, stopping.signal);
    if (!stopping.signal.aborted) await serveUntil(stopped, options, context, runtime);
  } catch (error) {
    // Stopped while preparing: what is half done was rolled back or is taken up by the next run.
    if (!stopping.signal.aborted) throw error;
  } finally {
    await db.close();
  }
  context.out('Stopped.\n');
  return 0;
}

/** The user's settings with the sample's resources. Requests are not logged unless asked for: people read this. */
function demoConfig(config: Config): Config {
  const logLevel = config.origins.logLevel === 'default' ? 'warn' : config.settings.logLevel;
  return {
    ...config,
    settings: { ...config.settings, databaseUrl: undefined, sequencer: true, logLevel },
    resources: demoResources,
    file: { resources: demoResources },
  };
}

/** Everything up to serving; each step is fast when it was done by an earlier run. */
async function prepare(
  options: DemoOptions,
  context: DemoContext,
  config: Config,
  db: Db,
  found: Exclude<FoundSample, { kind: 'foreign' }>,
  signal: AbortSignal,
): Promise<Runtime> {
  const errors = context.errorStream ?? process.stderr;
  const { dataDir } = config.settings;
  if (found.kind === 'none') {
    context.out(`Making a sample MLS in the embedded database in ${dataDir} ...\n`);
    const total = options.listings ?? defaultListings;
    const bar = openProgressBar('listings', errors);
    const tell = (done: number) => bar.onProgress({ done, total });
    await createSample(db, { seed: demoSeed, listings: total }, tell, signal).finally(bar.end);
  }
  await context.migrateAndPublish(config, db);
  const runtime = await context.openRuntime(config, db);
  await context.installCapture(runtime);
  const bar = openProgressBar('events', errors);
  await context.seed(runtime, bar.onProgress, signal).finally(bar.end);
  context.out(await standing(options, found, runtime));
  return runtime;
}

async function standing(
  options: DemoOptions,
  found: Exclude<FoundSample, { kind: 'foreign' }>,
  { db, config }: Runtime,
): Promise<string> {
  const counts = describeSample(await countSample(db));
  if (found.kind === 'none') return `The sample: ${counts}.\n`;
  const { listings, edits } = found.state;
  const other = options.listings !== undefined && options.listings !== listings;
  return [
    `Going on with the sample in ${config.settings.dataDir}: ${counts}, ${edits.toLocaleString('en-US')} live edits so far.\n`,
    other
      ? `It was made with ${listings.toLocaleString('en-US')} listings and stays as it is; --listings is for a new --data-dir.\n`
      : '',
  ].join('');
}

async function serveUntil(
  stopped: Promise<void>,
  options: DemoOptions,
  context: DemoContext,
  runtime: Runtime,
): Promise<void> {
  const { head } = await runtime.log.head();
  const listingKey = await plainListingKey(runtime.db);
  const served = await context.serve(runtime, { port: runtime.config.settings.port });
  const edits = new LiveEdits({
    db: runtime.db,
    timing: context.timing ?? processTiming,
    everyMs: editEveryMs,
    onEdit: text => context.out(`edit: ${text}\n`),
    onError: error =>
      context.out(`An edit failed: ${error instanceof Error ? error.message : String(error)}\n`),
  });
  context.out(
    welcomeText({
      url: served.url.replace('127.0.0.1', 'localhost'),
      head,
      listingKey,
      edits: options.edits,
    }),
  );
  if (options.edits) edits.start();
  await stopped;
  context.out('Stopping ...\n');
  await edits.stop();
  await served.stop();
}

/** A listing whose key can be pasted, one that is for sale: edits delete only those that are settled. */
async function plainListingKey(db: Db): Promise<string> {
  const rows = await db.query<{ key: string }>({
    text: `select "ListingKey" as key from public.property where "StandardStatus" = 'Active'
      order by "ListingId" limit 50`,
  });
  return rows.find(({ key }) => isPlainKey(key))?.key ?? rows[0]?.key ?? '';
}

async function countSample(db: Db): Promise<SampleCounts> {
  const [counts] = await db.query<SampleCounts>({
    text: `select (select count(*) from public.office)::integer as office,
      (select count(*) from public.member)::integer as member,
      (select count(*) from public.property)::integer as property,
      (select count(*) from public.media)::integer as media,
      (select count(*) from public.open_house)::integer as open_house`,
  });
  if (counts === undefined) throw new Error('The sample cannot be counted.');
  return counts;
}
