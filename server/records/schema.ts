import type { ResourceTable } from '../base/catalog/index.ts';
import type { Db } from '../base/db/index.ts';
import type { EntityType, SqlOptions } from '../edm/index.ts';
import type { WriteTransaction } from '../log/index.ts';
import type { Allowed, RowsMet, VisibilityPolicy } from '../visibility/index.ts';
import type { StatementWriter } from './statement.ts';
import type { WrittenKeys } from './written-keys.ts';

/** One resource: its table and how clients see it. */
export interface RecordResource {
  readonly table: ResourceTable;
  readonly type: EntityType;
}

/** What every reader and writer of records works with. */
export interface RecordContext {
  readonly db: Db;
  readonly write: WriteTransaction;
  readonly policy: VisibilityPolicy;
  /** Machine id in keys made as snowflakes. */
  readonly machineId: number;
  /** What each open change set has written. */
  readonly written: WrittenKeys;
  /** By qualified type name. */
  readonly resources: ReadonlyMap<string, RecordResource>;
}

/** The rules in the statement's own snapshot: the policy compares them with those that it was made for. */
export const ruleVersion = '(select rule_version from pulsefeed.log_head)';

/** The alias of the provider's table in every statement, and the same quoted. */
export const rowAlias = 't';
export const quotedAlias = '"t"';

/** The condition under which a row of a resource may be seen. */
export function visibleSql(
  allowed: Allowed,
  resource: string,
  alias: string,
  w: StatementWriter,
  met: RowsMet = 'few',
): string {
  return allowed.recordsAs(resource, alias, value => w.bind(value), met);
}

/** Options under which an expression over rows of `alias` (unquoted) follows relations to visible rows only. */
export function expressionOptions(allowed: Allowed, alias: string, firstParameter: number): SqlOptions {
  return {
    alias,
    firstParameter,
    restrict: (target, related, bind) =>
      allowed.recordsAs(target.name, related, value => bind(value, 'text')),
  };
}
