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
  /** The parents whose visibility this resource follows in some definition. */
  readonly follows: readonly FollowedParent[];
  /** `integer[]` as SQL: who sees a record without a table when its change states no feeds. */
  readonly unstated?: string;
  /** Its trigger writes a history row for each changed field, which gets the number of the change. */
  readonly history?: boolean;
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
  /** `integer[]`, ascending: the feeds whose own rule the row fulfils, those that follow a parent left out. */
  readonly feeds: string;
  /** `integer[]` or null: the definitions in which the row follows a parent and its own rule allows it. */
  readonly pass: string;
  /** `timestamptz` or null: the next moment at which one of its rules with now() changes its answer. */
  readonly dueAt: string;
}

/** A parent that a record follows: it is seen in a feed only if the parent, as stored, is. */
export interface FollowedParent {
  /** ResourceName of the parent. */
  readonly resource: string;
  /** 1-based position in `parents`; one to three. */
  readonly slot: number;
  /** The definitions in which this parent is followed. */
  readonly definitions: readonly number[];
}

/** The sources under one version of the rules. */
export interface SourceSet {
  readonly version: number;
  readonly sources: readonly RecordSource[];
  /** The same as `RecordSource.unstated`, for resources that are not configured. */
  readonly unstated: string;
}

/** A resource that has changes in the outbox but is not configured: present until deleted, ranked after all others. */
export function unconfigured(resource: string): RecordSource {
  return { resource, rank: 32_000, follows: [] };
}
