import type { SqlWriter } from './sql-writer.ts';
import type { Element, Field, TypedConsumer, TypedValue } from './typed.ts';

/** True for what Postgres holds in its type's own form, not as a computed numeric. */
export function isStored(expr: TypedValue): expr is Field | Element | TypedConsumer {
  return (
    (expr.kind === 'field' && expr.json.length === 0) || expr.kind === 'element' || expr.kind === 'consumer'
  );
}

/** True for what Postgres holds as smallint, integer or bigint. */
export function isNativeInteger(expr: TypedValue): boolean {
  return isStored(expr) && expr.type.name.startsWith('Edm.Int');
}

/** 8 or 4 for what Postgres holds as float8 or float4, else 0. */
export function nativeFloat(expr: TypedValue): 8 | 4 | 0 {
  if (!isStored(expr)) return 0;
  return expr.type.name === 'Edm.Double' ? 8 : expr.type.name === 'Edm.Single' ? 4 : 0;
}

/** A number as numeric. A stored double goes over its shortest text: a direct cast would keep only 15 digits. */
export function toNumeric(expr: TypedValue, w: SqlWriter): string {
  const sql = w.translate.value(expr, w);
  // Functions and counts give int or bigint, for which Postgres has no exact round or div.
  if (expr.kind === 'call' || expr.kind === 'count') return `(${sql}::numeric)`;
  if (!isStored(expr)) return sql;
  switch (expr.type.name) {
    case 'Edm.Double':
      return `(${sql}::text::numeric)`;
    case 'Edm.Single':
      return `(${sql}::float8::text::numeric)`;
    case 'Edm.Decimal':
    case 'Edm.Duration':
      return sql;
    default:
      return `(${sql}::numeric)`;
  }
}
