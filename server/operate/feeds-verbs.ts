import type { Command } from 'commander';
import { PulsefeedError } from '../base/errors.ts';
import { unobserved } from '../base/observe.ts';
import type { VerbContext } from '../context.ts';
import { SequencerLoop } from '../log/index.ts';
import type { Runtime } from '../runtime.ts';
import { addSettingFlags, databaseSettings } from '../setting-flags.ts';
import { applyFeeds, currentWalk, planFeeds, stepWalk } from '../visibility/index.ts';
import { printJson, table, withDatabase } from './verb.ts';

/** Records looked at in one step of a walk. */
const walkChunk = 5_000;
const pauseMs = 50;

/** Adds `feeds plan|apply|status`. */
export function registerFeeds(program: Command, context: VerbContext): void {
  const feeds = program.command('feeds').description('the visibility rules of the configuration');
  const verb = (name: string, description: string) =>
    addSettingFlags(feeds.command(name).description(description), databaseSettings).option(
      '--json',
      'print JSON',
    );
  verb('plan', 'say how many records would appear in and vanish from each feed; change nothing').action(
    (options: { json?: true }, command: Command) =>
      withDatabase(context, command, async (config, db) => {
        const runtime = await context.openRuntime(config, db);
        const plan = await planFeeds(db, config.file.feeds ?? {}, config.resources, runtime.tables);
        if (options.json === true) return printJson(context, plan);
        context.out(
          table([
            ['FEED', 'RESOURCE', 'NOW', 'APPEAR', 'VANISH'],
            ...plan.map(({ feed, resource, now, appear, vanish }) => [
              feed,
              resource,
              String(now),
              String(appear),
              String(vanish),
            ]),
          ]),
        );
      }),
  );
  verb(
    'apply',
    'make the rules of the configuration the ones in force, and tell every consumer what changes',
  ).action((options: { json?: true }, command: Command) =>
    withDatabase(context, command, async (config, db) => {
      const runtime = await context.openRuntime(config, db);
      const onProgress = (records: number) => {
        if (options.json !== true && process.stderr.isTTY)
          process.stderr.write(`\r${records} records looked at`);
      };
      const apply = () => applyFeeds(db, config.file.feeds ?? {}, config.resources, runtime.tables);
      // An earlier change that was left half done is finished first: it may be late, it is never dropped.
      const applied = await apply().catch(async (error: unknown) => {
        if (!(error instanceof PulsefeedError) || error.code !== 'EE-204') throw error;
        await finishWalks(runtime, onProgress);
        return apply();
      });
      const queued = await finishWalks(runtime, onProgress);
      if (options.json === true) return printJson(context, { ...applied, queued });
      if (process.stderr.isTTY) process.stderr.write('\n');
      context.out(
        applied.changed
          ? `The rules are in force as version ${applied.version}; ${queued} records were looked at again.\n`
          : `These rules were in force already, as version ${applied.version}.\n`,
      );
    }),
  );
  verb('status', 'say which rules are in force, and whether a change is still walking').action(
    (options: { json?: true }, command: Command) =>
      withDatabase(context, command, async (config, db) => {
        const runtime = await context.openRuntime(config, db);
        const { version, feedsConfigured } = await runtime.rules.refresh();
        const walk = await currentWalk(db);
        const status = {
          version,
          feedsConfigured,
          walk:
            walk === undefined
              ? null
              : { kind: walk.kind, queued: Number(walk.queued), startedAt: walk.startedAt },
        };
        if (options.json === true) return printJson(context, status);
        context.out(
          `Version ${version}; ${feedsConfigured ? 'feeds are configured' : 'no feeds: everyone sees everything'}; ` +
            `${walk === undefined ? 'nothing is walking' : `walking (${walk.kind}), ${walk.queued} records queued`}.\n`,
        );
      }),
  );
}

/**
 * Walks until no change of rules or grants is open, and numbers meanwhile: with a server running, its sequencer does
 * and ours stands by; without one, ours does.
 */
async function finishWalks(runtime: Runtime, onProgress: (records: number) => void): Promise<number> {
  const loop = new SequencerLoop(runtime.sequencer(), unobserved);
  loop.start();
  let queued = 0;
  try {
    for (;;) {
      const step = await stepWalk({ ...runtime, chunk: walkChunk });
      if (step.kind === 'none') break;
      if (step.kind === 'queued') {
        queued += step.queued;
        onProgress(queued);
        loop.poke();
      } else await new Promise(resolve => setTimeout(resolve, pauseMs));
    }
    while ((await runtime.log.head()).waitingMs > 0)
      await new Promise(resolve => setTimeout(resolve, pauseMs));
  } finally {
    await loop.stop();
  }
  return queued;
}
