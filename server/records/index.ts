import type { ResourceTable } from '../base/catalog/index.ts';
import type { Db } from '../base/db/index.ts';
import type { EntitySet } from '../edm/entity-set.ts';
import { entityTypesOf } from '../edm/index.ts';
import type { WriteTransaction } from '../log/index.ts';
import type { VisibilityPolicy } from '../visibility/index.ts';
import { recordSet } from './record-set.ts';
import type { RecordContext, RecordResource } from './schema.ts';
import { writtenKeys } from './written-keys.ts';

export { dictionarySets } from './dictionary-sets.ts';
export { historySets } from './history-set.ts';

/**
 * The configured resources that have a table here, as entity sets; `write` runs a
 * write that is in no change set.
 * @throws EE-705 listing every fault in the configured names of fields and relations.
 */
export function recordSets(
  db: Db,
  policy: VisibilityPolicy,
  tables: readonly ResourceTable[],
  machineId = 0,
  write: WriteTransaction = (work, options) => db.transaction(work, options),
): EntitySet[] {
  const types = entityTypesOf(tables);
  const resources = tables.flatMap((table, index): RecordResource[] => {
    const type = types[index];
    return type === undefined ? [] : [{ table, type }];
  });
  const context: RecordContext = {
    db,
    write,
    policy,
    machineId,
    written: writtenKeys(),
    resources: new Map(resources.map(resource => [resource.type.qualifiedName, resource])),
  };
  return resources.map(resource => recordSet(context, resource));
}
