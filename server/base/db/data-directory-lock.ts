import { randomUUID } from 'node:crypto';
import { link, open, readFile, stat, unlink, utimes, writeFile } from 'node:fs/promises';
import { createServer, connect as dial, type Server } from 'node:net';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { PulsefeedError } from '../errors.ts';

/**
 * One owner per data directory. Two PGlite processes in one folder both report success and lose data silently,
 * so the folder holds `owner.json`, and the owner listens on a loopback port that the kernel closes when the
 * process dies, however it dies. A second process believes the file only if that port still answers.
 */
export interface DataDirectoryLock {
  release(): Promise<void>;
}

interface Owner {
  readonly pid: number;
  readonly host: string;
  readonly port: number;
  readonly nonce: string;
}

/** Another machine (or container) cannot be asked over loopback; its heartbeat on the file is trusted instead. */
const heartbeatMs = 2_000;
const foreignStaleMs = 15_000;
const takeoverStaleMs = 10_000;

/** @throws EE-701 naming the process that holds the folder. */
export async function lockDataDirectory(dataDir: string): Promise<DataDirectoryLock> {
  const path = join(dataDir, 'owner.json');
  const nonce = randomUUID();
  const server = await answerWith(nonce);
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  const draft = join(dataDir, `owner.${nonce}.tmp`);
  const owner: Owner = { pid: process.pid, host: hostname(), port, nonce };
  await writeFile(draft, JSON.stringify(owner));
  try {
    await claim(path, draft);
  } catch (error) {
    await closeServer(server);
    throw error;
  } finally {
    await unlink(draft);
  }
  const heartbeat = setInterval(() => {
    const now = new Date();
    // The folder may be removed under a running process (tests, an operator); the lock itself does not need it.
    utimes(path, now, now).catch(() => clearInterval(heartbeat));
  }, heartbeatMs);
  heartbeat.unref();
  return {
    async release() {
      clearInterval(heartbeat);
      if ((await readOwner(path))?.nonce === nonce) await unlink(path);
      await closeServer(server);
    },
  };
}

async function claim(path: string, draft: string): Promise<void> {
  for (let attempt = 0; attempt < 100; attempt += 1) {
    try {
      // link(2) is atomic and fails when the name exists; rename would replace a living owner's file.
      await link(draft, path);
      return;
    } catch (error) {
      if (!isErrno(error, 'EEXIST')) throw error;
    }
    const holder = await readOwner(path);
    if (holder !== undefined && (await isAlive(holder, path))) throw heldBy(holder);
    await removeStale(path, holder);
  }
  throw new PulsefeedError('EE-701', 'The data directory is being claimed by other processes without end.');
}

/** Removes a dead owner's file; a second remover is kept out, so that it cannot remove the next owner's file. */
async function removeStale(path: string, seen: Owner | undefined): Promise<void> {
  const gate = `${path}.takeover`;
  try {
    await (await open(gate, 'wx')).close();
  } catch (error) {
    if (!isErrno(error, 'EEXIST')) throw error;
    const age = Date.now() - (await modifiedMs(gate, Date.now()));
    if (age > takeoverStaleMs) await unlinkIfThere(gate);
    await new Promise(resolve => setTimeout(resolve, 20));
    return;
  }
  try {
    const now = await readOwner(path);
    if (now?.nonce === seen?.nonce) await unlinkIfThere(path);
  } finally {
    await unlinkIfThere(gate);
  }
}

async function isAlive(owner: Owner, path: string): Promise<boolean> {
  if (owner.host !== hostname()) return Date.now() - (await modifiedMs(path, 0)) < foreignStaleMs;
  try {
    process.kill(owner.pid, 0);
  } catch (error) {
    if (isErrno(error, 'ESRCH')) return false;
  }
  return portAnswers(owner);
}

/**
 * False when nothing listens on the port or something else answers there. A stopped process (SIGSTOP) still has
 * its port: the kernel accepts, nobody answers, and the folder counts as held.
 */
function portAnswers(owner: Owner): Promise<boolean> {
  return new Promise(resolve => {
    const socket = dial({ host: '127.0.0.1', port: owner.port, timeout: 1_000 });
    let answer = '';
    const finish = (alive: boolean) => {
      socket.destroy();
      resolve(alive);
    };
    socket.on('data', data => {
      answer += data.toString('utf8');
    });
    socket.on('end', () => finish(answer === owner.nonce));
    socket.on('timeout', () => finish(true));
    socket.on('error', () => finish(false));
  });
}

function answerWith(nonce: string): Promise<Server> {
  const server = createServer(socket => {
    socket.on('error', () => socket.destroy());
    socket.end(nonce);
  });
  server.unref();
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => resolve(server));
  });
}

function closeServer(server: Server): Promise<void> {
  return new Promise(resolve => server.close(() => resolve()));
}

async function readOwner(path: string): Promise<Owner | undefined> {
  try {
    return JSON.parse(await readFile(path, 'utf8')) as Owner;
  } catch (error) {
    if (isErrno(error, 'ENOENT') || error instanceof SyntaxError) return undefined;
    throw error;
  }
}

async function modifiedMs(path: string, absent: number): Promise<number> {
  try {
    return (await stat(path)).mtimeMs;
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return absent;
    throw error;
  }
}

async function unlinkIfThere(path: string): Promise<void> {
  try {
    await unlink(path);
  } catch (error) {
    if (!isErrno(error, 'ENOENT')) throw error;
  }
}

function heldBy(owner: Owner): PulsefeedError {
  const where = owner.host === hostname() ? '' : ` on ${owner.host}`;
  return new PulsefeedError('EE-701', `The data directory is in use by process ${owner.pid}${where}.`);
}

function isErrno(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code;
}
