import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { loadConfig } from '../server/base/config/index.ts';
import { openPush } from '../server/push/index.ts';
import { openDatabase, openRuntime } from '../server/runtime.ts';
import { atTestEnd } from './cleanup.ts';
import { resources } from './simulated-provider.ts';

/** A process that does nothing but deliver, so that tests can kill or stop it. */
export interface PushProcess {
  readonly child: ChildProcess;
  /** Resolves when its worker is known to the others. */
  readonly ready: Promise<void>;
  /** SIGKILL; resolves when it has ended. */
  kill(): Promise<void>;
}

/** How it works; times in milliseconds, the standard ones where absent. */
export interface PushProcessOptions {
  /** A database that `buildSimulationDatabase` filled. */
  readonly url: string;
  readonly name: string;
  readonly secretKey: string;
  readonly settings?: Readonly<Record<string, unknown>>;
  readonly pace?: Readonly<Record<string, number>>;
  /** What `compiled` made of this file; without it the process runs on tsx. */
  readonly program?: string;
}

/** Starts a worker in a process of its own. It ends by itself when this process does, at the latest with the test. */
export function startPushProcess(options: PushProcessOptions): PushProcess {
  const { program, ...given } = options;
  const run = program === undefined ? ['--import', 'tsx', fileURLToPath(import.meta.url)] : [program];
  const child = spawn(process.execPath, [...run, JSON.stringify(given)], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  child.stdin?.on('error', () => undefined);
  const ended = once(child, 'exit');
  const kill = async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.kill('SIGKILL');
    await ended;
  };
  atTestEnd(kill);
  return { child, ready: once(child.stdout ?? child, 'data').then(() => undefined), kill };
}

async function run(text: string): Promise<void> {
  const { url, name, secretKey, settings = {}, pace = {} } = JSON.parse(text) as PushProcessOptions;
  const loaded = await loadConfig({ env: { DATABASE_URL: url }, cwd: import.meta.dirname });
  const config = {
    ...loaded,
    resources,
    settings: { ...loaded.settings, poolSize: 4, secretKey, pushAllow: ['127.0.0.0/8'], ...settings },
  };
  const db = await openDatabase(config, name);
  const push = openPush({ ...(await openRuntime(config, db)), observe: () => undefined }, config.settings);
  await push?.worker(name, [], pace).start();
  process.stdout.write('ready\n');
  process.stdin.resume().once('end', () => process.exit(0));
}

// Not awaited at the top level: mocha would then load the tests that import this file apart from the others.
if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  run(process.argv[2] ?? '').catch((error: unknown) => {
    process.stderr.write(`${String(error)}\n`);
    process.exit(1);
  });
}
