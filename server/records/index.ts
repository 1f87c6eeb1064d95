import type { ResourceTable } from '../base/catalog/index.ts';
import type { Db } from '../base/db/index.ts';
import type { EntitySet } from '../edm/entity-set.ts';
import { entityTypesOf } from '../edm/index.ts';
import type { VisibilityPolicy } from '../visibility/index.ts';
import { recordSet } from './record-set.ts';
import type { RecordContext, RecordResource } from './schema.ts';

export { dictionarySets } from './dictionary-sets.ts';

/**
 * The configured resources that have a table here, as entity sets.
 * @throws EE-705 listing every fault in the configured names of fields and relations.
 */
export function recordSets(
  db: Db,
  policy: VisibilityPolicy,
  tables: readonly ResourceTable[],
  machineId = 0,
): EntitySet[] {
  const types = entityTypesOf(tables);
  const resources = tables.flatMap((table, index): RecordResource[] => {
    const type = types[index];
    return type === undefined ? [] : [{ table, type }];
  });
  const context: RecordContext = {
    db,
    policy,
    machineId,
    resources: new Map(resources.map(resource => [resource.type.qualifiedName, resource])),
  };
  return resources.map(resource => recordSet(context, resource));
}
