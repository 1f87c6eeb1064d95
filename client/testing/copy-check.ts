import { canonicalText, type SourceRecord } from '../canonical.ts';
import { readMetadata } from '../metadata.ts';
import type { Applied, Batch, Store } from '../store.ts';
import { KEY_FIELDS, METADATA, type OddSource } from './odd-source.ts';

/** Where the copy in `store` differs from the source; empty when they are equal. */
export async function differences(source: OddSource, store: Store): Promise<string[]> {
  const found: string[] = [];
  const schema = readMetadata(METADATA);
  for (const resource of Object.keys(KEY_FIELDS)) {
    const fields = schema.resources.get(resource)?.fields ?? [];
    const text = (record: SourceRecord | undefined) => record && canonicalText(fields, record);
    const theirs = new Map(source.records.get(resource));
    for await (const { key, record } of store.records(resource) ?? []) {
      const expected = text(theirs.get(key));
      if (expected !== text(record)) found.push(`${resource} ${key}: ${text(record)} instead of ${expected}`);
      theirs.delete(key);
    }
    for (const key of theirs.keys()) found.push(`${resource} ${key} is missing`);
  }
  return found;
}

/** Thrown by `watched` in the place of a crash. */
export class Crash extends Error {}

/**
 * The same store, which fails on a delete of a record that the source never lost, and crashes by `crash`: `before` the batch is
 * written or `after` it, before the client hears of it.
 */
export function watched(
  store: Store,
  source: OddSource,
  crash: () => 'no' | 'before' | 'after' = () => 'no',
): Store {
  const apply = async (batch: Batch): Promise<Applied> => {
    for (const { resource, key } of batch.deletes) {
      const known = source.removed.has(`${resource} ${key}`);
      if (!known) throw new Error(`${resource} ${key} is deleted though the source has it.`);
    }
    const when = crash();
    if (when === 'before') throw new Crash('before');
    const applied = await store.apply(batch);
    if (when === 'after') throw new Crash('after');
    return applied;
  };
  return {
    open: schema => store.open(schema),
    cursor: () => store.cursor(),
    apply,
    stale: (generation, limit) => store.stale(generation, limit),
    records: resource => store.records(resource),
    has: (resource, keys) => store.has(resource, keys),
    close: () => store.close(),
  };
}
