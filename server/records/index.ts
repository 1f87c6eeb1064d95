import type { ResourceTable } from '../base/catalog/index.ts';
import type { Db } from '../base/db/index.ts';
import type { EntitySet } from '../edm/entity-set.ts';
import { entityTypesOf } from '../edm/index.ts';
import type { VisibilityPolicy } from '../visibility/index.ts';
import { recordSet } from './record-set.ts';

/** The configured resources that have a table here, as entity sets. */
export function recordSets(db: Db, policy: VisibilityPolicy, tables: readonly ResourceTable[]): EntitySet[] {
  const types = entityTypesOf(tables);
  return tables.flatMap((table, index) => {
    const type = types[index];
    return type === undefined ? [] : [recordSet(db, policy, table, type)];
  });
}
