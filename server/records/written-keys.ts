import type { Queryable } from '../base/db/index.ts';
import type { RecordResource } from './schema.ts';

/**
 * The records that a change set (one transaction of one writer) has made or changed. Its later requests may change them
 * again: what the set itself wrote has no number yet, and so is visible to nobody, its writer included.
 */
export interface WrittenKeys {
  /** Without a transaction of a set there is nothing to come back to. */
  note(tx: Queryable | undefined, resource: RecordResource, key: string): void;
  has(tx: Queryable | undefined, resource: RecordResource, key: string): boolean;
}

/** Forgets a set with its transaction. */
export function writtenKeys(): WrittenKeys {
  const sets = new WeakMap<Queryable, Set<string>>();
  const name = ({ type }: RecordResource, key: string) => `${type.name} ${key}`;
  return {
    note(tx, resource, key) {
      if (tx === undefined) return;
      const keys = sets.get(tx) ?? new Set();
      sets.set(tx, keys.add(name(resource, key)));
    },
    has: (tx, resource, key) => tx !== undefined && sets.get(tx)?.has(name(resource, key)) === true,
  };
}
