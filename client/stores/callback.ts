import type { Schema } from '../metadata.ts';
import type { Applied, Batch, RecordRef, Store, Upsert } from '../store.ts';

/** A store of one's own. Only `loadCursor` and `apply` are needed; what is left out is said by a notice where it is missed. */
export interface StoreCallbacks {
  /** The cursor last given to `apply`, `undefined` at first. */
  loadCursor(): Promise<string | undefined>;
  /** Writes the batch: records first, then `batch.cursor(deferred)`, in one transaction where there is one. */
  apply(batch: Batch): Promise<Applied | undefined>;
  open?(schema: Schema): Promise<void>;
  /** Needed for a source that sends its consumers back to the beginning (410): lists records of earlier generations. */
  stale?(generation: number, limit: number): Promise<readonly RecordRef[]>;
  /** Needed for `verify`, together with `has`. */
  records?(resource: string): AsyncIterable<Upsert>;
  has?(resource: string, keys: readonly string[]): Promise<ReadonlySet<string>>;
  close?(): Promise<void>;
}

/** Makes a Store of functions. */
export function callbackStore(callbacks: StoreCallbacks): Store {
  return {
    open: async schema => callbacks.open?.(schema),
    cursor: () => callbacks.loadCursor(),
    apply: async batch => (await callbacks.apply(batch)) ?? { deferred: [] },
    stale: async (generation, limit) => callbacks.stale?.(generation, limit),
    records: resource => (callbacks.has ? callbacks.records?.(resource) : undefined),
    has: async (resource, keys) => (await callbacks.has?.(resource, keys)) ?? new Set<string>(),
    close: async () => callbacks.close?.(),
  };
}
