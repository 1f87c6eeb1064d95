import {
  bindOrderBy,
  defineEntityType,
  type EntityType,
  type PrimitiveName,
  type Property,
  parseOrderBy,
  primitive,
  recordNamespace,
  type TypedOrderItem,
} from '../edm/index.ts';

/** ResourceName of the history (RESO Data Dictionary 2.0). */
export const historyName = 'HistoryTransactional';

const keyName = 'HistoryTransactionalKey';

function property(
  name: string,
  type: PrimitiveName,
  column: string,
  facets: Partial<Pick<Property, 'nullable' | 'maxLength' | 'precision'>> = {},
): Property {
  return { name, type: primitive(type), nullable: false, column, ...facets };
}

const text = { maxLength: 255 };

const properties: readonly Property[] = [
  property(keyName, 'Edm.String', 'history_key', text),
  property('EntityEventSequence', 'Edm.Int64', 'seq'),
  property('ResourceName', 'Edm.String', 'resource', text),
  property('ResourceRecordKey', 'Edm.String', 'key', text),
  property('FieldKey', 'Edm.String', 'field_key', text),
  property('FieldName', 'Edm.String', 'field_name', text),
  // Without a length: a value is shown whole, however long its field may be.
  property('PreviousValue', 'Edm.String', 'previous_value', { nullable: true }),
  property('NewValue', 'Edm.String', 'new_value', { nullable: true }),
  property('ChangedByMemberKey', 'Edm.String', 'changed_by', { nullable: true, ...text }),
  property('ModificationTimestamp', 'Edm.DateTimeOffset', 'at', { precision: 6 }),
];

function typeOf(all: readonly Property[]): EntityType {
  return defineEntityType({
    namespace: recordNamespace,
    name: historyName,
    key: [keyName],
    properties: all,
    navigation: [],
    table: { schema: 'pulsefeed', name: 'history' },
  });
}

/** HistoryTransactional as clients see it: one row a changed field, with the number of the event that told of it. */
export const historyType: EntityType = typeOf(properties);

const ordered = typeOf([...properties, property('id', 'Edm.Int64', 'id')]);

/**
 * The order with the key replaced by what it is made of, the number of the event and then the order of the changes: the
 * order of the log, and one that an index serves.
 */
export function inLogOrder(items: readonly TypedOrderItem[]): readonly TypedOrderItem[] {
  const names = new Set<string>();
  return items
    .flatMap(item => {
      if (nameOf(item) !== keyName) return [item];
      const direction = item.descending ? 'desc' : 'asc';
      return bindOrderBy(parseOrderBy(`EntityEventSequence ${direction},id ${direction}`), ordered);
    })
    .filter(item => {
      const name = nameOf(item);
      const repeated = name !== undefined && names.has(name);
      if (name !== undefined) names.add(name);
      return !repeated;
    });
}

function nameOf({ expr }: TypedOrderItem): string | undefined {
  return expr.kind === 'field' && expr.via.length === 0 ? expr.property.name : undefined;
}

/** SQL for the key of the row behind `alias`: of equal length everywhere, so that as text it sorts as the log does. */
export function historyKeySql(alias: string): string {
  return `lpad(${alias}.seq::text, 19, '0') || '-' || lpad(${alias}.id::text, 19, '0')`;
}

/** The parts of a key, or undefined for a text that is none. */
export function historyKeyParts(key: string): { seq: string; id: string } | undefined {
  const match = /^(\d{19})-(\d{19})$/.exec(key);
  const [, seq, id] = match ?? [];
  const largest = 9_223_372_036_854_775_807n;
  if (seq === undefined || id === undefined || BigInt(seq) > largest || BigInt(id) > largest)
    return undefined;
  return { seq, id };
}
