import assert from 'node:assert/strict';
import { Command } from 'commander';
import { type PushFixture, pushFixture, scriptedReceiver, status } from '../../testing/push-fixture.ts';
import { until } from '../../testing/until.ts';
import { loadConfig } from '../base/config/index.ts';
import { createReporter } from '../base/report.ts';
import { migrateAndPublish, openDatabase, openRuntime } from '../runtime.ts';
import { startPushWorker } from '../serve.ts';
import { registerPush } from './cli.ts';

/** Runs a verb on the fixture's database, as the program does. */
async function run(feed: PushFixture, line: string, untilSignal = async () => 'SIGTERM'): Promise<string> {
  let text = '';
  const { config } = feed.runtime;
  const env = { DATABASE_URL: config.settings.databaseUrl };
  const program = new Command('pulsefeed').exitOverride();
  registerPush(program, {
    env,
    cwd: import.meta.dirname,
    out: part => {
      text += part;
    },
    loadConfig: async flags => ({
      ...(await loadConfig({ flags, env, cwd: import.meta.dirname })),
      ...config,
    }),
    openDatabase,
    openRuntime,
    migrateAndPublish,
    createReporter: () => createReporter('silent'),
    untilSignal,
    startWorker: startPushWorker,
  });
  await program.parseAsync(line.split(' '), { from: 'user' });
  return text;
}

describe('the verbs of push', function () {
  this.timeout(30_000);

  it('list, show, pause, resume, seek and re-drive subscriptions of any consumer', async () => {
    const feed = await pushFixture();
    const receiver = await scriptedReceiver();
    receiver.always(
      (response, { sequences }) =>
        void response.writeHead(sequences.includes(2n) ? 422 : 200).end('because of that'),
    );
    await feed.events(3);
    const id = await feed.subscribe({ CallbackUrl: receiver.url, EntityEventSequence: 0, RejectTries: 1 });
    const worker = await feed.work();
    await feed.caughtUp(id);
    await worker.stop();
    const [listed] = JSON.parse(await run(feed, 'webhook list --json')) as Record<string, unknown>[];
    assert.deepEqual(
      [listed?.id, listed?.consumer, listed?.state, listed?.cursor, listed?.behind, listed?.deadLetters],
      [id, 'reader', 'active', '3', '0', '1'],
    );
    assert.match(await run(feed, 'webhook list'), new RegExp(`${id} +reader +active +3 +0`));
    const shown = await run(feed, `webhook show ${id}`);
    assert.match(shown, /dead-letter +422/);
    assert.match(shown, /2 +Property L2 +dead +422 +because of that/);
    assert.match(await run(feed, `webhook pause ${id}`), /paused.*Paused by the operator/s);
    assert.match(await run(feed, `webhook resume ${id}`), /active/);
    assert.match(await run(feed, `webhook seek ${id} 1`), /active +1 +2/);
    assert.match(await run(feed, `webhook seek ${id} 2000-01-01T00:00:00Z`), /active +0 +3/);
    assert.match(await run(feed, `webhook redrive ${id}`), /^1 dead letters/);
    await assert.rejects(run(feed, 'webhook pause sub_none'), { code: 'EE-505' });
    await assert.rejects(run(feed, `webhook seek ${id} yesterday`), { code: 'EE-114' });
    receiver.always(status(200));
  });

  it('deliver in a process of their own until told to stop, and tell who is at what', async () => {
    const feed = await pushFixture();
    const receiver = await scriptedReceiver();
    receiver.always(() => undefined);
    const id = await feed.subscribe({ CallbackUrl: receiver.url });
    let stop: (signal: string) => void = () => undefined;
    const stopped = run(feed, 'push', () => new Promise(resolve => (stop = resolve)));
    await until('the worker', async () => (await run(feed, 'worker list')).includes('alive'));
    await feed.events(1);
    await until('the POST', () => receiver.received.length === 1);
    const [worker] = JSON.parse(await run(feed, 'worker list --json')) as Record<string, unknown>[];
    assert.deepEqual([worker?.alive, worker?.slots, worker?.serves], [true, 64, [id]]);
    stop('SIGTERM');
    await stopped;
    assert.equal((await run(feed, 'worker list')).split('\n').length, 2, 'it has given up its place');
    assert.equal((await feed.row(id)).failures, 1, 'and waited for what was under way');
  });
});
