import type { ResourceTable } from '../base/catalog/index.ts';
import type { Db } from '../base/db/index.ts';
import type { EntitySet } from '../edm/entity-set.ts';
import type { VisibilityPolicy } from '../visibility/index.ts';
import { recordSet } from './record-set.ts';

/** The configured resources that have a table here, as entity sets. */
export function recordSets(db: Db, policy: VisibilityPolicy, tables: readonly ResourceTable[]): EntitySet[] {
  return tables.map(table => recordSet(db, policy, table));
}
