import assert from 'node:assert/strict';
import { EventEmitter, once } from 'node:events';
import { cp } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { Command } from 'commander';
import { seed } from '../../seeds/index.ts';
import { temporaryFolder } from '../../testing/temporary-folder.ts';
import { until } from '../../testing/until.ts';
import { loadConfig } from '../base/config/index.ts';
import { connect } from '../base/db/index.ts';
import { createReporter } from '../base/report.ts';
import { installCapture } from '../capture/index.ts';
import { migrateAndPublish, openDatabase, openRuntime } from '../runtime.ts';
import { serve } from '../serve.ts';
import { registerDemo } from './cli.ts';
import type { DemoContext } from './context.ts';

/** The demo as the program wires it, with the user's hand on Ctrl-C and on the clock. */
interface Run {
  /** What it has printed. */
  text(): string;
  errors(): string;
  /** Resolves with the exit code. */
  readonly ended: Promise<number>;
  /** Resolves with the three commands once they are printed; fails when the demo ends before. */
  commands(): Promise<string[]>;
  /** Lets the next round of edits begin. */
  edit(): void;
  stop(): void;
}

function startDemo(cwd: string, args: readonly string[], env: Record<string, string> = {}): Run {
  const user = new EventEmitter();
  const printed = { out: '', errors: '' };
  let round: (() => void) | undefined;
  const context: DemoContext = {
    loadConfig: flags => loadConfig({ flags, env, cwd }),
    openDatabase,
    openRuntime,
    migrateAndPublish,
    installCapture: ({ db, tables }) => installCapture(db, tables),
    seed: (runtime, onProgress, signal) => seed(runtime, { signal }, onProgress),
    serve: (runtime, options) => serve(runtime, createReporter('silent'), options),
    out: text => {
      printed.out += text;
      user.emit('printed');
    },
    signals: () => once(user, 'stop'),
    errorStream: { write: text => (printed.errors += text) },
    timing: {
      now: () => new Date('2025-07-01T12:00:00.000Z'),
      after: (_ms, run) => {
        round = run;
        return () => {
          round = undefined;
        };
      },
    },
  };
  return {
    text: () => printed.out,
    errors: () => printed.errors,
    ended: exitCode(context, args),
    async commands() {
      await until('the commands', () => printed.out.includes('Ctrl-C'), { withinMs: 60_000 });
      return [...printed.out.matchAll(/^ {3}curl (['"])(.*)\1$/gm)].map(match => match[2] ?? '');
    },
    edit: () => round?.(),
    stop: () => user.emit('stop'),
  };
}

/** Runs the verb as the program does; commander's own exit codes come out as thrown. */
async function exitCode(context: DemoContext, args: readonly string[]): Promise<number> {
  const before = process.exitCode;
  process.exitCode = 0;
  try {
    const program = new Command('pulsefeed');
    const silent = { writeErr: () => undefined };
    registerDemo(program, context).exitOverride().configureOutput(silent);
    await program.parseAsync(['demo', ...args], { from: 'user' });
    return Number(process.exitCode);
  } finally {
    process.exitCode = before ?? 0;
  }
}

interface Page {
  readonly value: readonly {
    readonly EntityEventSequence: number;
    readonly ResourceName: string;
    readonly ResourceRecordKey: string;
  }[];
}

/** Which number stands for which record; the URLs differ from port to port. */
function numbered(page: Page): string[] {
  return page.value.map(
    event => `${event.EntityEventSequence} ${event.ResourceName} ${event.ResourceRecordKey}`,
  );
}

async function get(url: string): Promise<{ status: number; body: unknown }> {
  const answer = await fetch(url);
  return { status: answer.status, body: await answer.json() };
}

describe('the demo', function () {
  this.timeout(120_000);
  type Folder = Awaited<ReturnType<typeof temporaryFolder>>;
  let empty: Folder;
  let folder: Folder;
  const open: Run[] = [];

  // Making an embedded database takes longer than all that is done with it here: it is made once and copied.
  before(async () => {
    empty = await temporaryFolder('demo-empty');
    await (await connect({ dataDir: join(empty.path, 'data') })).close();
  });
  after(() => empty.remove());
  beforeEach(async () => {
    folder = await temporaryFolder('demo with a space');
    await cp(join(empty.path, 'data'), join(folder.path, 'data'), { recursive: true });
  });
  afterEach(async () => {
    for (const run of open.splice(0)) {
      run.stop();
      await run.ended.catch(() => undefined);
    }
    await folder.remove();
  });

  function demo(args: readonly string[], env?: Record<string, string>): Run {
    const dataDir = join(folder.path, 'data');
    const run = startDemo(
      folder.path,
      ['--data-dir', dataDir, '--port', '0', '--listings', '40', ...args],
      env,
    );
    open.push(run);
    return run;
  }

  it('prints three commands that answer, moves the feed, stops, and goes on where it stood', async () => {
    // The sample belongs into the embedded database, whatever DATABASE_URL says.
    const first = demo([], { DATABASE_URL: 'postgres://nobody@127.0.0.1:1/nothing' });
    const [initialise = '', sync = '', fetchRecord = ''] = await first.commands();
    const page = (await get(initialise)).body as Page;
    assert.deepEqual(
      page.value.map(event => [event.EntityEventSequence, event.ResourceName]),
      [1, 2, 3, 4, 5].map(number => [number, 'Office']),
    );
    assert.deepEqual(((await get(sync)).body as Page).value, []);
    const record = await get(fetchRecord);
    assert.equal(record.status, 200);
    assert.equal((record.body as { StandardStatus: string }).StandardStatus, 'Active');
    first.edit();
    const events = await until('an event', async () => {
      const { value } = (await get(sync)).body as Page;
      return value.length > 0 && value;
    });
    assert.ok(events.length > 0);
    assert.match(first.text(), /^edit: /m);
    first.stop();
    assert.equal(await first.ended, 0);
    assert.match(first.text(), /Stopped\.\n$/);

    const second = demo(['--no-edits', '--listings', '99']);
    const [again = ''] = await second.commands();
    assert.match(second.text(), /^Going on with the sample .* [1-3] live edits so far\.$/m);
    assert.match(second.text(), /was made with 40 listings and stays as it is/);
    assert.doesNotMatch(second.text(), /Making a sample/);
    const head = /head of its feed is (\d+)/.exec(second.text())?.[1];
    assert.ok(Number(head) >= (events.at(-1)?.EntityEventSequence ?? 0));
    assert.deepEqual(numbered((await get(again)).body as Page), numbered(page));
    second.edit();
    assert.doesNotMatch(second.text(), /^edit: /m);
  });

  it('says so when the port is taken, and makes nothing', async () => {
    const other = createServer().listen(0, '127.0.0.1');
    await once(other, 'listening');
    const address = other.address();
    const port = typeof address === 'object' && address !== null ? address.port : 0;
    const run = demo(['--port', String(port)]);
    assert.equal(await run.ended, 1);
    other.close();
    assert.match(
      run.errors(),
      new RegExp(`Port ${port} on 127\\.0\\.0\\.1 is taken.*\n.*--port ${port + 1}`),
    );
    assert.equal(run.text(), '');
  });

  it('leaves the data of somebody else alone', async () => {
    const db = await connect({ dataDir: join(folder.path, 'data') });
    await db.script('create table public.property ("ListingKey" text primary key)');
    await db.close();
    const run = demo([]);
    assert.equal(await run.ended, 1);
    assert.match(run.errors(), /holds a table public\.property that this demo did not make/);
  });

  it('can be stopped while it makes the sample, and begins anew the next time', async () => {
    const run = demo(['--listings', '2000']);
    await until('the start', () => run.text().includes('Making a sample'), { withinMs: 60_000 });
    run.stop();
    assert.equal(await run.ended, 0);
    assert.doesNotMatch(run.text(), /curl/);
    const next = demo(['--no-edits']);
    await next.commands();
    assert.match(next.text(), /The sample: 40 listings/);
  });

  it('refuses a number of listings that makes no sense', async () => {
    for (const count of ['0', '-5', 'many', '1e3']) {
      await assert.rejects(demo(['--listings', count]).ended, /Give a whole number/);
    }
  });
});
