import type { EntitySet } from '../edm/entity-set.ts';
import {
  defineEntityType,
  dictionaryField,
  dictionaryRatified,
  type EntityType,
  lookupValues,
  type Property,
  primitive,
  recordNamespace,
} from '../edm/index.ts';
import { type MemoryRow, memorySet } from './memory-set.ts';

/**
 * The resources `Field` and `Lookup` of Web API Core 2.1.0: which fields are served, and the standard values of the
 * lookups that they use. A resource of the provider's own with one of these names goes before ours.
 */
export function dictionarySets(sets: readonly EntitySet[]): EntitySet[] {
  const taken = new Set(sets.map(({ name }) => name));
  return [
    memorySet(dictionaryType('Field', 'FieldKey', ['ResourceName', 'FieldName']), fieldRows(sets)),
    memorySet(
      dictionaryType('Lookup', 'LookupKey', [
        'LookupName',
        'LookupValue',
        'StandardLookupValue',
        'LegacyODataValue',
      ]),
      lookupRows(sets),
    ),
  ].filter(({ name }) => !taken.has(name));
}

function dictionaryType(name: string, key: string, texts: readonly string[]): EntityType {
  // The rows are in memory: nothing reads a column.
  const property = (field: string, nullable: boolean): Property => ({
    name: field,
    type: primitive('Edm.String'),
    nullable,
    maxLength: 255,
    column: field,
  });
  return defineEntityType({
    namespace: recordNamespace,
    name,
    key: [key],
    properties: [
      property(key, false),
      ...texts.map(field => property(field, field === 'LegacyODataValue' || field === 'StandardLookupValue')),
      {
        name: 'ModificationTimestamp',
        type: primitive('Edm.DateTimeOffset'),
        nullable: false,
        precision: 0,
        column: 'ModificationTimestamp',
      },
    ],
    navigation: [],
    table: { name },
  });
}

function fieldRows(sets: readonly EntitySet[]): MemoryRow[] {
  return sets.flatMap(({ name, type }) =>
    [...type.properties, ...type.navigation].map(field => ({
      FieldKey: `${name}.${field.name}`,
      ResourceName: name,
      FieldName: field.name,
      ModificationTimestamp: dictionaryRatified,
    })),
  );
}

function lookupRows(sets: readonly EntitySet[]): MemoryRow[] {
  const used = new Set(
    sets.flatMap(({ name, type }) =>
      type.properties.flatMap(field => dictionaryField(name, field.name)?.lookup ?? []),
    ),
  );
  return [...used].sort().flatMap(lookup =>
    lookupValues(lookup).map(value => ({
      LookupKey: `${lookup}.${value}`,
      LookupName: lookup,
      LookupValue: value,
      StandardLookupValue: value,
      LegacyODataValue: null,
      ModificationTimestamp: dictionaryRatified,
    })),
  );
}
