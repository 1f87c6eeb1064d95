import { compareSql, inSql } from './sql-compare.ts';
import { boundValue } from './sql-literal.ts';
import { arraySql, members } from './sql-relations.ts';
import { type Mode, type SqlWriter, sqlTypeOf } from './sql-writer.ts';
import type { Compare, TypedHas, TypedLambda, TypedValue } from './typed.ts';

/** A condition as SQL of type boolean; see Mode for what null means. Always in parentheses or a single term. */
export function conditionSql(expr: TypedValue, mode: Mode, w: SqlWriter): string {
  switch (expr.kind) {
    case 'and':
    case 'or':
      return `(${expr.operands.map(operand => conditionSql(operand, mode, w)).join(` ${expr.kind} `)})`;
    case 'not':
      return `(not ${conditionSql(expr.operand, 'exact', w)})`;
    case 'compare':
      return `(${compareSql(expr, mode, w)})`;
    case 'in':
      return inSql(expr, mode, w);
    case 'has':
      return hasSql(expr, w);
    case 'any':
    case 'all':
      return lambdaSql(expr, mode, w);
    default:
      return w.translate.value(expr, w);
  }
}

function hasSql(expr: TypedHas, w: SqlWriter): string {
  const mask = w.bind(boundValue(expr.mask.value, expr.mask.type, expr.mask.at), sqlTypeOf(expr.mask.type));
  return `((${w.translate.value(expr.left, w)})::bigint & ${mask} = ${mask})`;
}

/** An element for which the condition is null counts as one for which it is false; a null array is an empty collection. */
function lambdaSql(expr: TypedLambda, mode: Mode, w: SqlWriter): string {
  const { collection, body, variable } = expr;
  if (collection.kind === 'values') {
    if (body === null) return `(coalesce(cardinality(${arraySql(collection, w)}), 0) > 0)`;
    const item = expr.kind === 'any' ? soughtItem(body, variable) : null;
    if (item !== null) {
      const found = `(${w.translate.value(item, w)} = any(${arraySql(collection, w)}))`;
      return mode === 'exact' ? `(${found} is true)` : found;
    }
  }
  const { from, where } = members(collection, variable, w);
  if (body === null) return `(exists (select 1 from ${from} where ${where}))`;
  if (expr.kind === 'any')
    return `(exists (select 1 from ${from} where ${where} and ${conditionSql(body, 'where', w)}))`;
  return `(not exists (select 1 from ${from} where ${where} and (${conditionSql(body, 'exact', w)}) is not true))`;
}

/** The string sought by `any(v:v eq 'x')`, by far the most frequent lambda, which needs no subquery. */
function soughtItem(body: TypedValue, variable: number): TypedValue | null {
  if (body.kind !== 'compare' || body.op !== 'eq') return null;
  const { left, right }: Compare = body;
  const plain = left.kind === 'element' && left.id === variable && left.type.name === 'Edm.String';
  return plain && (right.kind === 'literal' || right.kind === 'consumer') ? right : null;
}
