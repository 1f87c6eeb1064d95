import { readFileSync, rmSync, statSync } from 'node:fs';
import { chmod, lstat, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { hostname, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

/** The unprivileged user that Postgres runs as when the tests run as root: it refuses to run as root itself. */
export type Identity = { uid: number; gid: number };

/** A folder and its removal. `remove` may be called twice. */
export type TemporaryFolder = { path: string; remove(): Promise<void> };

const SCRATCH_NAME = /^pulsefeed-test-(\d+)-/;

/** Module state because there is one scratch folder per process, made on first use. */
const state: { scratch: Promise<string> | undefined } = { scratch: undefined };

/**
 * Makes an empty folder of its own. It goes with `remove()`, else when the process ends, else (after a kill -9) when
 * the next process of the same user asks for one.
 * @param prefix begins the folder's name; letters, digits and dashes.
 */
export async function temporaryFolder(prefix: string): Promise<TemporaryFolder> {
  const path = await mkdtemp(join(await scratchFolder(), `${prefix}-`));
  return { path, remove: () => removeFolder(path) };
}

/** Removes a folder with all that is in it; fine when it is not there. Retries while a dying process still writes. */
export function removeFolder(path: string): Promise<void> {
  return rm(path, { recursive: true, force: true, maxRetries: 5, retryDelay: 50 });
}

/**
 * The user to drop to: `nobody`, else the first ordinary one in the password file (initdb insists that its user has
 * an entry there). Undefined when this process is not root, so that Postgres can run as the same user. No user is
 * ever created.
 */
export function unprivilegedIdentity(): Identity | undefined {
  if (process.geteuid?.() !== 0) return undefined;
  const users = passwordFile()
    .map(line => line.split(':'))
    .map(([name, , uid, gid]) => ({ name, uid: Number(uid), gid: Number(gid) }))
    .filter(({ uid, gid }) => Number.isInteger(uid) && Number.isInteger(gid) && uid !== 0);
  const user = users.find(({ name }) => name === 'nobody') ?? users[0];
  return { uid: user?.uid ?? 65534, gid: user?.gid ?? 65534 };
}

function passwordFile(): string[] {
  try {
    return readFileSync('/etc/passwd', 'utf8').split('\n');
  } catch {
    return [];
  }
}

/**
 * Where temporary things go: the system's temporary folder, or `/tmp` when this process is root and the unprivileged
 * user could not walk into the former (a TMPDIR below root's home).
 */
export function temporaryBase(): string {
  const base = tmpdir();
  if (unprivilegedIdentity() === undefined) return base;
  for (let folder = base; ; folder = dirname(folder)) {
    if ((statSync(folder).mode & 0o001) === 0) return '/tmp';
    if (folder === dirname(folder)) return base;
  }
}

/**
 * This process's own folder below the temporary base; everything else lives inside it. Other users may walk through
 * it but not list it. What dead processes of this host and user left behind is removed on the way: a Postgres still
 * running in such a folder stops by itself within a minute, because it rechecks its lock file.
 */
export function scratchFolder(): Promise<string> {
  state.scratch ??= createScratchFolder();
  return state.scratch;
}

async function createScratchFolder(): Promise<string> {
  const base = temporaryBase();
  await removeStaleFolders(base);
  const folder = await mkdtemp(join(base, `pulsefeed-test-${process.pid}-`));
  await writeFile(join(folder, 'host'), hostname());
  await chmod(folder, 0o711);
  process.once('exit', () => {
    try {
      rmSync(folder, { recursive: true, force: true });
    } catch {
      // A server that is still going down may add a file meanwhile; its watchdog removes the folder after it.
    }
  });
  return folder;
}

async function removeStaleFolders(base: string): Promise<void> {
  for (const name of await readdir(base)) {
    const pid = Number(SCRATCH_NAME.exec(name)?.[1]);
    if (!Number.isInteger(pid) || isAlive(pid)) continue;
    const folder = join(base, name);
    try {
      const { uid } = await lstat(folder);
      // A pid means nothing across hosts or containers that share one temporary folder.
      const sameHost = (await readFile(join(folder, 'host'), 'utf8')) === hostname();
      if (sameHost && uid === (process.geteuid?.() ?? uid)) await removeFolder(folder);
    } catch {
      // Another process removes the same folder at this moment, or it belongs to somebody else.
    }
  }
}

/** Whether a process of that id exists on this host, whoever owns it. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
