import type { Schema } from '../metadata.ts';
import { ReplicationError } from '../replication-error.ts';
import type { Applied, Batch, RecordRef, Store, Upsert } from '../store.ts';

interface Entry {
  readonly upsert: Upsert;
  readonly generation: number;
}

/** A store in memory, for tests and for small copies that need not outlive the process. */
export interface MemoryStore extends Store {
  /** The records of one resource by key. */
  contents(resource: string): ReadonlyMap<string, Upsert['record']>;
}

/** Makes an empty MemoryStore. */
export function memoryStore(): MemoryStore {
  const tables = new Map<string, Map<string, Entry>>();
  let cursor: string | undefined;
  let open = false;
  const table = (resource: string): Map<string, Entry> => {
    const found = tables.get(resource) ?? new Map<string, Entry>();
    tables.set(resource, found);
    return found;
  };
  return {
    open: async (schema: Schema) => {
      open = true;
      for (const name of schema.resources.keys()) table(name);
    },
    cursor: async () => cursor,
    apply: async (batch: Batch): Promise<Applied> => {
      if (!open) throw new ReplicationError('store', 'The store is not open.');
      for (const upsert of batch.upserts) {
        table(upsert.resource).set(upsert.key, { upsert, generation: batch.generation });
      }
      for (const { resource, key } of batch.deletes) table(resource).delete(key);
      cursor = batch.cursor([]);
      return { deferred: [] };
    },
    stale: async (generation, limit) => {
      const found: RecordRef[] = [];
      for (const [resource, entries] of tables) {
        for (const [key, entry] of entries) {
          if (entry.generation < generation && found.length < limit) found.push({ resource, key });
        }
      }
      return found;
    },
    records: async function* (resource) {
      for (const { upsert } of [...table(resource).values()]) yield upsert;
    },
    has: async (resource, keys) => new Set(keys.filter(key => table(resource).has(key))),
    close: async () => {
      open = false;
    },
    contents: resource => new Map([...table(resource)].map(([key, { upsert }]) => [key, upsert.record])),
  };
}
