import type { Column } from '../base/catalog/index.ts';
import { quoteIdentifier } from '../base/db/index.ts';
import { type ColumnSql, type PrimitiveName, type PropertyType, primitive } from './model.ts';

/** A column as a property: its type, and how its value is read so that the SQL form fits that type. */
export interface ColumnMapping {
  readonly type: PropertyType;
  readonly column: ColumnSql;
  readonly maxLength?: number;
  readonly precision?: number;
  readonly scale?: number | 'variable';
}

const scalars: Readonly<Record<string, PrimitiveName>> = {
  bool: 'Edm.Boolean',
  int2: 'Edm.Int16',
  int4: 'Edm.Int32',
  int8: 'Edm.Int64',
  numeric: 'Edm.Decimal',
  float4: 'Edm.Single',
  float8: 'Edm.Double',
  text: 'Edm.String',
  varchar: 'Edm.String',
  bpchar: 'Edm.String',
  date: 'Edm.Date',
  time: 'Edm.TimeOfDay',
  timestamptz: 'Edm.DateTimeOffset',
  timestamp: 'Edm.DateTimeOffset',
  interval: 'Edm.Duration',
  uuid: 'Edm.Guid',
  bytea: 'Edm.Binary',
};

/**
 * The EDM type of a column. A `timestamp` without time zone is taken as UTC; types that OData has no counterpart for
 * (json, enums, network addresses) are served as their text.
 */
export function mapColumn(column: Column): ColumnMapping {
  const array = column.baseType.startsWith('_');
  const name = scalars[array ? column.baseType.slice(1) : column.baseType];
  if (name === undefined) {
    const cast = array ? 'text[]' : 'text';
    return {
      type: array ? { kind: 'collection', of: primitive('Edm.String') } : primitive('Edm.String'),
      column: alias => `${alias}.${quoteIdentifier(column.name)}::${cast}`,
    };
  }
  return {
    type: array ? { kind: 'collection', of: primitive(name) } : primitive(name),
    column: needsUtc(column)
      ? alias => `(${alias}.${quoteIdentifier(column.name)} at time zone 'UTC')`
      : column.name,
    ...facets(column, name),
  };
}

function needsUtc(column: Column): boolean {
  return column.baseType === 'timestamp';
}

function facets(column: Column, name: PrimitiveName): Partial<ColumnMapping> {
  if (name === 'Edm.String' && column.maxLength !== undefined) return { maxLength: column.maxLength };
  if (name === 'Edm.Decimal') {
    return column.precision === undefined
      ? { scale: 'variable' }
      : { precision: column.precision, scale: column.scale ?? 0 };
  }
  if (name === 'Edm.DateTimeOffset' || name === 'Edm.TimeOfDay') {
    const digits = /\((\d)\)/.exec(column.type)?.[1];
    return { precision: digits === undefined ? 6 : Number(digits) };
  }
  return {};
}
