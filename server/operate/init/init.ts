import { existsSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import type { ConfigFile } from '../../base/config/index.ts';
import type { Queryable } from '../../base/db/index.ts';
import { PulsefeedError } from '../../base/errors.ts';
import { type Guess, guessResources } from './guess-resources.ts';
import { type CandidateTable, countResourceNames, readCandidates } from './read-catalog.ts';
import { anyParent, folded } from './reso-names.ts';

/** Reads the catalog and guesses. Nothing is written anywhere. */
export async function guessFromCatalog(db: Queryable): Promise<Guess> {
  const tables = await readCandidates(db);
  const counts = new Map<CandidateTable, { name: string; records: number }[]>();
  for (const table of tables) {
    const names = table.columns.map(({ name }) => name);
    const column = names.find(name => folded(name) === folded(anyParent.resource));
    if (column === undefined || !names.some(name => folded(name) === folded(anyParent.key))) continue;
    counts.set(table, await countResourceNames(db, table, column));
  }
  return guessResources(tables, counts);
}

/**
 * Writes the configuration file. An existing one is only replaced with `force`, and then keeps its settings: only the
 * resources change.
 * @throws EE-700 when the file exists and `force` is not given, or is not JSON.
 */
export async function writeConfig(path: string, guess: Guess, force: boolean): Promise<void> {
  let settings: Partial<ConfigFile> = {};
  if (existsSync(path)) {
    if (!force) {
      throw new PulsefeedError(
        'EE-700',
        `${path} exists already. Pass --force to replace its resources; its settings are kept.`,
      );
    }
    settings = await readSettings(path);
  }
  await writeFile(path, `${JSON.stringify({ ...settings, resources: guess.resources }, null, 2)}\n`);
}

async function readSettings(path: string): Promise<Partial<ConfigFile>> {
  try {
    return JSON.parse(await readFile(path, 'utf8')) as Partial<ConfigFile>;
  } catch (error) {
    throw new PulsefeedError('EE-700', `${path} is not JSON; remove it first.`, { cause: error });
  }
}
