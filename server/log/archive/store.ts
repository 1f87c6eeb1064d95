import { mkdir, open, readdir, readFile, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { s3Store } from './store-s3.ts';

/** Where segment files lie: a folder, or a bucket of an S3-compatible store. Files are written once and never changed. */
export interface ArchiveStore {
  readonly location: string;
  /** Resolves when the file would survive a crash. */
  put(name: string, bytes: Uint8Array): Promise<void>;
  /** Undefined when there is no such file. */
  get(name: string): Promise<Uint8Array | undefined>;
  /** Its size in bytes; undefined when there is no such file. */
  size(name: string): Promise<number | undefined>;
  /** The names of all files. */
  list(): Promise<string[]>;
}

/**
 * Opens the store that the setting `archive` names: a folder, or `s3://bucket/prefix` with `endpoint`, `region` and
 * `pathStyle` as query. Nothing is read or written yet. @throws EE-700 for an address that is neither.
 */
export function openStore(location: string): ArchiveStore {
  return location.startsWith('s3:') ? s3Store(location) : folderStore(location);
}

/** A folder, made when the first file is written. */
function folderStore(folder: string): ArchiveStore {
  return {
    location: folder,
    async put(name, bytes) {
      await mkdir(folder, { recursive: true });
      const partial = join(folder, `${name}.${process.pid}.partial`);
      try {
        const file = await open(partial, 'w');
        try {
          await file.writeFile(bytes);
          await file.sync();
        } finally {
          await file.close();
        }
        await rename(partial, join(folder, name));
      } catch (error) {
        await rm(partial, { force: true });
        throw error;
      }
      await syncFolder(folder);
    },
    get: name => readFile(join(folder, name)).catch(undefinedWhenMissing),
    size: name => stat(join(folder, name)).then(({ size }) => size, undefinedWhenMissing),
    list: async () => (await readdir(folder).catch(undefinedWhenMissing)) ?? [],
  };
}

/** The new name is an entry of the folder, which has to reach the disk as well. Windows cannot sync a folder. */
async function syncFolder(folder: string): Promise<void> {
  if (process.platform === 'win32') return;
  const handle = await open(folder, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

function undefinedWhenMissing(error: unknown): undefined {
  if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
  throw error;
}
