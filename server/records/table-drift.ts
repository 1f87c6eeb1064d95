import { readResourceTables } from '../base/catalog/index.ts';
import type { Db } from '../base/db/index.ts';
import { PulsefeedError, sqlState } from '../base/errors.ts';
import type { RecordResource } from './schema.ts';

/** SQLSTATEs of a statement that names a table or column which is not there. */
const missingStates = ['42P01', '42703'];

/**
 * Runs `work`, and where the database says that a table or column is gone, says which fields they are: the tables were
 * looked up at start, and the provider may change them under a running service.
 * @throws EE-705 naming resource and fields, without SQL.
 */
export async function namingMissing<T>(
  db: Db,
  resources: readonly RecordResource[],
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!missingStates.includes(sqlState(error) ?? '')) throw error;
    const missing: string[] = [];
    for (const resource of resources) missing.push(...(await missingOf(db, resource)));
    const what = missing.length === 0 ? 'A table or column that this resource needs' : missing.join(', ');
    throw new PulsefeedError(
      'EE-705',
      `${what} is not in the database any more; the service has to be started again with a configuration that fits.`,
      { cause: error },
    );
  }
}

async function missingOf(db: Db, { table, type }: RecordResource): Promise<string[]> {
  try {
    const [now] = await readResourceTables(db, [table.config]);
    const names = new Set(now?.columns.map(({ name }) => name));
    const gone = table.columns.filter(({ name }) => !names.has(name)).map(({ name }) => name);
    // A column that is read through a cast has a function for its SQL; its property is found by its own name.
    return gone.map(name => {
      const property = type.properties.find(({ column, name: field }) => column === name || field === name);
      return `the field ${property?.name ?? name} of ${type.name}`;
    });
  } catch (error) {
    if (error instanceof PulsefeedError && error.code === 'EE-705') return [`a part of ${type.name}`];
    throw error;
  }
}
