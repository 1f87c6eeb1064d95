import { quoteIdentifier } from '../base/db/index.ts';
import type { ColumnSql, Property, PropertyType } from '../edm/index.ts';

/** SQL for a property's value over the row `alias`. */
export function valueSql(column: ColumnSql, alias: string): string {
  return typeof column === 'string' ? `${alias}.${quoteIdentifier(column)}` : column(alias);
}

/**
 * SQL for a property's value such that Postgres' own JSON writer yields OData's JSON (JSON Format 7): exact digits for
 * Int64 and Decimal, or strings under IEEE754Compatible; UTC with Z; INF and NaN spelled; base64url; a collection is
 * never null. Rows leave the database as finished JSON text, so no object is built on the way.
 */
export function wireSql(property: Property, alias: string, ieee754: boolean): string {
  const value = valueSql(property.column, alias);
  return property.type.kind === 'collection'
    ? wireCollection(property.type, value, ieee754)
    : wireValue(property.type, value, ieee754);
}

function wireValue(type: PropertyType, value: string, ieee754: boolean): string {
  if (type.kind !== 'primitive') return value;
  switch (type.name) {
    case 'Edm.Int64':
    case 'Edm.Decimal':
      return ieee754 ? `${value}::text` : value;
    case 'Edm.Single':
    case 'Edm.Double':
      return `case ${value} when 'Infinity' then '"INF"'::json when '-Infinity' then '"-INF"'::json else to_json(${value}) end`;
    case 'Edm.DateTimeOffset':
      return `(to_json(${value} at time zone 'UTC') #>> '{}') || 'Z'`;
    case 'Edm.Binary':
      return `translate(encode(${value}, 'base64'), E'+/=\\n', '-_')`;
    case 'Edm.Duration':
      return `${value}::text`;
    default:
      return value;
  }
}

function wireCollection(
  type: Extract<PropertyType, { kind: 'collection' }>,
  value: string,
  ieee754: boolean,
): string {
  const item = wireValue(type.of, 'x', ieee754);
  if (item === 'x') return `coalesce(to_json(${value}), '[]')`;
  return `coalesce((select json_agg(${item} order by n) from unnest(${value}) with ordinality as u (x, n)), '[]')`;
}
