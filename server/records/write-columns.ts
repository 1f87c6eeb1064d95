import type { Column } from '../base/catalog/index.ts';
import { quoteIdentifier } from '../base/db/index.ts';
import { fieldNames } from '../edm/index.ts';
import type { RecordResource } from './schema.ts';
import type { WrittenField } from './write-body.ts';

/** The column behind each field. */
export function fieldColumns({ table }: RecordResource): ReadonlyMap<string, Column> {
  return new Map(fieldNames(table).served.map(({ name, column }) => [name, column]));
}

/**
 * SQL for the value of a field, taken out of the body (an SQL expression of type json) by the database, so that no digit
 * is lost on the way. Texts are not cast to their length, which would cut them off silently.
 */
export function bodyValueSql({ property, column, isNull }: WrittenField, body: string): string {
  if (isNull) return 'null';
  const member = `'${property.name.replaceAll("'", "''")}'`;
  if (property.type.kind === 'collection') {
    const item = itemSql(property.type.of.name, 'x');
    const array = `array(select ${item} from json_array_elements_text(${body} -> ${member}) with ordinality as e (x, n) order by n)`;
    return `${array}::${column.type}`;
  }
  const text = `(${body} ->> ${member})`;
  const value = itemSql(property.type.name, text);
  if (column.baseType === 'timestamp') return `(${value}::timestamptz at time zone 'UTC')`;
  return ['text', 'varchar', 'bpchar'].includes(column.baseType) ? value : `${value}::${column.type}`;
}

function itemSql(typeName: string, text: string): string {
  if (typeName === 'Edm.Binary') {
    const padded = `rpad(translate(rtrim(${text}, '='), '-_', '+/'), (length(rtrim(${text}, '=')) + 3) / 4 * 4, '=')`;
    return `decode(${padded}, 'base64')`;
  }
  if (typeName === 'Edm.Double' || typeName === 'Edm.Single') return `replace(${text}, 'INF', 'Infinity')`;
  return text;
}

/** `"a" = ..., "b" = default` for the fields given and, when the record is set anew, the others that can be written. */
export function assignments(
  resource: RecordResource,
  fields: readonly WrittenField[],
  body: string,
  replace: boolean,
): string[] {
  const { table } = resource;
  const changed = fields.filter(({ column }) => column !== table.key && !column.generated);
  const set = changed.map(field => `${quoteIdentifier(field.column.name)} = ${bodyValueSql(field, body)}`);
  if (!replace) return set;
  const given = new Set(changed.map(({ column }) => column));
  const others = [...fieldColumns(resource).values()].filter(
    column => !given.has(column) && column !== table.key && !column.generated,
  );
  return [...set, ...others.map(column => `${quoteIdentifier(column.name)} = default`)];
}
