import { cp } from 'node:fs/promises';
import { join } from 'node:path';
import { PGlite } from '@electric-sql/pglite';
import { type TemporaryFolder, temporaryFolder } from './temporary-folder.ts';

/** One per process, made on first use. */
const template: { made: Promise<string> | undefined } = { made: undefined };

/**
 * A data directory for `connect` with an empty embedded database in it, copied from one that was made once: making one
 * takes seconds of processor time, a copy a tenth of that.
 */
export async function embeddedFolder(prefix: string): Promise<TemporaryFolder> {
  template.made ??= makeTemplate();
  const [from, folder] = await Promise.all([template.made, temporaryFolder(prefix)]);
  await cp(from, join(folder.path, 'pgdata'), { recursive: true });
  return folder;
}

async function makeTemplate(): Promise<string> {
  const { path } = await temporaryFolder('embedded-template');
  const pglite = new PGlite(path);
  await pglite.waitReady;
  await pglite.close();
  return path;
}
