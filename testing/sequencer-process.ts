import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { readResourceTables } from '../server/base/catalog/index.ts';
import { openPostgres } from '../server/base/db/postgres.ts';
import { dense, openLog, SequencerLoop } from '../server/log/index.ts';
import { RuleBook } from '../server/visibility/index.ts';
import { resources } from './log-resources.ts';

/** A process that does nothing but number changes, so that tests can kill or stop it. */
export interface SequencerProcess {
  readonly child: ChildProcess;
  /** Whether it has begun to step. */
  readonly ready: boolean;
  /** SIGKILL; resolves when it has ended. */
  kill(): Promise<void>;
}

/** Which database it numbers in, and what it calls itself there. */
export interface SequencerProcessOptions {
  /** A database that `buildLogDatabase` filled. */
  readonly url: string;
  /** Its application_name. */
  readonly name: string;
  readonly batchSize?: number;
  /** What `compiled` made of this file; without it the process runs on tsx. */
  readonly program?: string;
}

/** Starts a sequencer in a process of its own. It ends by itself when this process does. */
export function startSequencerProcess(options: SequencerProcessOptions): SequencerProcess {
  const { url, name, batchSize = 10_000, program } = options;
  const run = program === undefined ? ['--import', 'tsx', fileURLToPath(import.meta.url)] : [program];
  const child = spawn(process.execPath, [...run, url, name, String(batchSize)], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  child.stdin.on('error', () => undefined);
  const ended = once(child, 'exit');
  let ready = false;
  child.stdout.once('data', () => {
    ready = true;
  });
  return {
    child,
    get ready() {
      return ready;
    },
    async kill() {
      child.kill('SIGKILL');
      await ended;
    },
  };
}

async function run([url = '', name = '', batchSize = '']: string[]): Promise<void> {
  // When the database is not there yet (again), the tests start another process.
  const db = openPostgres({ url, poolSize: 3, applicationName: name, statementTimeoutMs: 0 });
  const rules = new RuleBook(db, resources, await readResourceTables(db, resources));
  const sequencer = openLog(db).sequence({
    loadSources: () => rules.load(),
    numbering: dense,
    batchSize: Number(batchSize),
  });
  // What fails here is what the tests break on purpose; the loop tries again.
  new SequencerLoop(sequencer, () => undefined).start();
  process.stdout.write('ready\n');
  process.stdin.resume().once('end', () => process.exit(0));
}

// Not awaited at the top level: mocha would then load the tests that import this file apart from the others.
if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  run(process.argv.slice(2)).catch(() => process.exit(1));
}
