import type { ResourceTable } from '../base/catalog/index.ts';
import { mapColumn } from './column-type.ts';
import { defineEntityType, type EntityType } from './model.ts';

/** Namespace of the record types: that of RESO's own metadata. */
const namespace = 'org.reso.metadata';

/** Describes a provider's table as an entity type: each column a property under its own name. */
export function entityTypeOf(table: ResourceTable): EntityType {
  return defineEntityType({
    namespace,
    name: table.config.name,
    key: [table.key.name],
    properties: table.columns.map(column => {
      const { type, ...rest } = mapColumn(column);
      const key = column.name === table.key.name;
      return {
        name: column.name,
        type,
        nullable: !key && !column.notNull && type.kind !== 'collection',
        ...rest,
      };
    }),
    navigation: [],
    table: { schema: table.schema, name: table.name },
  });
}
