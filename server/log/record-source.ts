/**
 * How the sequencer looks at the records of one resource. Declared here and filled in by whoever knows tables and
 * rules, so that the log imports neither. All SQL in it is built from configuration and the catalog, never from a
 * request.
 */
export interface RecordSource {
  /** The ResourceName. */
  readonly resource: string;
  /** Topological order of the configured parents: a parent's rank is smaller than its children's. */
  readonly rank: number;
  /** 1-based position in `parents` of the parent that is of the same resource, such as Office.MainOfficeKey. */
  readonly selfParentSlot?: number;
  /** Absent for a resource without a table here: its changes state presence and feeds themselves. */
  readonly live?: LiveTable;
}

/** The provider's table, seen through the alias `t`. */
export interface LiveTable {
  /** Quoted table name. */
  readonly table: string;
  /** The key as text. */
  readonly key: string;
  /** A condition that is true for the row whose key, as text, is the given SQL expression. Uses the key's index. */
  readonly match: (keyExpression: string) => string;
  /** `text[]`: the keys of the configured parents in their order, null where there is none. */
  readonly parents: string;
  /** `integer[]`, ascending: the feeds whose own rule the row fulfils. */
  readonly feeds: string;
}

/** A resource that has changes in the outbox but is not configured: present until deleted, ranked after all others. */
export function unconfigured(resource: string): RecordSource {
  return { resource, rank: 32_000 };
}
