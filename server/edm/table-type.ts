import type { ResourceTable } from '../base/catalog/index.ts';
import { type ErrorDetail, PulsefeedError } from '../base/errors.ts';
import { type ColumnMapping, mapColumn } from './column-type.ts';
import { dictionaryField } from './data-dictionary.ts';
import { fieldNames, type ServedColumn } from './field-names.ts';
import { type AnnotationValue, defineEntityType, type EntityType, type Property } from './model.ts';
import { tableRelations } from './table-relations.ts';

/** Namespace of the record types: that of RESO's own metadata. */
export const recordNamespace = 'org.reso.metadata';

/** Term that names the Lookup of a field (Web API Core 2.1.0). */
const lookupTerm = 'RESO.OData.Metadata.LookupName';

/**
 * Describes the tables of the resources as entity types, in their order: each column that is not hidden a property, the
 * configured parents as relations in both directions.
 * @throws EE-705 with one detail for each fault in the configuration of fields and relations.
 */
export function entityTypesOf(tables: readonly ResourceTable[]): EntityType[] {
  const named = tables.map(table => ({ table, ...fieldNames(table) }));
  const relations = tableRelations(
    recordNamespace,
    named.map(({ table, served }) => ({ table, served })),
  );
  refuse([...named.flatMap(({ faults }) => faults), ...relations.faults]);
  return named.map(({ table, served }) =>
    defineEntityType({
      namespace: recordNamespace,
      name: table.config.name,
      key: [keyName(table, served)],
      properties: served.map(({ name, column }) => propertyOf(table, { name, column })),
      navigation: relations.of.get(table.config.name) ?? [],
      table: { schema: table.schema, name: table.name },
    }),
  );
}

/**
 * A table as rules see it: every column, hidden ones too, under the name it is served by and under its own. Rules stay
 * as they are when a field is renamed or hidden.
 * @throws EE-705 as entityTypesOf.
 */
export function ruleTypeOf(table: ResourceTable): EntityType {
  const { served, faults } = fieldNames(table);
  refuse(faults);
  const names = new Set(served.map(({ name }) => name));
  const further = table.columns
    .filter(({ name }) => !names.has(name))
    .map(column => ({ name: column.name, column }));
  return defineEntityType({
    namespace: recordNamespace,
    name: table.config.name,
    key: [keyName(table, served)],
    properties: [...served, ...further].map(item => propertyOf(table, item)),
    navigation: [],
    table: { schema: table.schema, name: table.name },
  });
}

function keyName(table: ResourceTable, served: readonly ServedColumn[]): string {
  return served.find(({ column }) => column === table.key)?.name ?? table.key.name;
}

function propertyOf(table: ResourceTable, { name, column }: ServedColumn): Property {
  const mapping = mapColumn(column);
  const { type } = mapping;
  const annotations = annotationsOf(table.config.name, name, column.generated);
  return {
    name,
    nullable: column !== table.key && !column.notNull && type.kind !== 'collection',
    ...withStandardLength(mapping, table.config.name, name),
    ...(annotations === undefined ? {} : { annotations }),
  };
}

/** The standard's length stands in where the column has none; the column's own facets are facts and go first. */
function withStandardLength(mapping: ColumnMapping, resource: string, name: string): ColumnMapping {
  const { type } = mapping;
  const text = type.kind === 'primitive' && type.name === 'Edm.String';
  const facts = text && mapping.maxLength === undefined ? dictionaryField(resource, name) : undefined;
  if (facts?.length === undefined || (facts.kind !== 'string' && facts.kind !== 'single')) return mapping;
  return { ...mapping, maxLength: facts.length };
}

function annotationsOf(
  resource: string,
  name: string,
  generated: boolean,
): Readonly<Record<string, AnnotationValue>> | undefined {
  const lookup = dictionaryField(resource, name)?.lookup;
  if (lookup === undefined && !generated) return undefined;
  return {
    ...(lookup === undefined ? {} : { [lookupTerm]: lookup }),
    ...(generated ? { 'Core.Computed': true } : {}),
  };
}

function refuse(faults: readonly string[]): void {
  if (faults.length === 0) return;
  const details: ErrorDetail[] = faults.map(message => ({ code: 'EE-705', message }));
  throw new PulsefeedError('EE-705', faults.join('\n'), { details });
}
