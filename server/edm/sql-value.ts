import { MAX_COMPUTED_SHIFT_SECONDS } from './bind-arithmetic.ts';
import { integerRange } from './bind-literal.ts';
import { QUOTIENT_DIGITS } from './decimal.ts';
import { ExpressionError } from './expression-error.ts';
import { callSql } from './sql-call.ts';
import { intervalText, literalSql } from './sql-literal.ts';
import { toNumeric } from './sql-number.ts';
import { arraySql, elementSql, members, reached } from './sql-relations.ts';
import { columnSql, consumerSql, repeated, type SqlWriter, sqlTypeOf } from './sql-writer.ts';
import type { Arithmetic, Element, Field, TypedCast, TypedCount, TypedValue } from './typed.ts';
import { valueType } from './typed.ts';

/**
 * An expression's value as SQL, in its type's SQL form: numbers as stored or numeric, a Duration as numeric seconds, the rest
 * as in sqlTypeOf.
 */
export function valueSql(expr: TypedValue, w: SqlWriter): string {
  switch (expr.kind) {
    case 'literal':
      return literalSql(expr, w);
    case 'null':
      return `null::${expr.type === null ? 'text' : sqlTypeOf(expr.type)}`;
    case 'field':
      return seconds(expr, fieldSql(expr, w));
    case 'element':
      return seconds(expr, elementSql(expr.id));
    case 'complexField':
      return reached(expr.origin, expr.via, w, alias => columnSql(expr.property.column, alias));
    case 'consumer':
      return consumerSql(expr.attribute, expr.type, expr.at, w);
    case 'negate':
      return `(- ${toNumeric(expr.operand, w)})`;
    case 'arithmetic':
      return arithmeticSql(expr, w);
    case 'call':
      return callSql(expr, w);
    case 'cast':
      return castSql(expr, w);
    case 'count':
      return countSql(expr, w);
    default:
      return w.translate.condition(expr, 'exact', w);
  }
}

/** An interval column becomes seconds, which compare and compute exactly and without overflow. */
function seconds(expr: Field | Element, sql: string): string {
  return expr.type.name === 'Edm.Duration' ? `extract(epoch from ${sql})` : sql;
}

function fieldSql(field: Field, w: SqlWriter): string {
  const { json, type } = field;
  const column = (alias: string): string => columnSql(field.property.column, alias);
  if (json.length === 0) return reached(field.origin, field.via, w, column);
  const names = json.map(member => (typeof member.column === 'string' ? member.column : member.name));
  const path = w.bind(names, 'text[]');
  const value = reached(field.origin, field.via, w, alias => `(${column(alias)})::jsonb #> ${path}`);
  const text = `(${value} #>> '{}')`;
  if (type.name === 'Edm.String') return `(case when jsonb_typeof(${value}) = 'string' then ${text} end)`;
  if (type.name === 'Edm.Boolean')
    return `(case when jsonb_typeof(${value}) = 'boolean' then ${text}::boolean end)`;
  if (/^Edm\.(Int|Decimal|Double)/.test(type.name)) {
    return `(case when jsonb_typeof(${value}) = 'number' then ${text}::numeric end)`;
  }
  throw new ExpressionError('unsupported', `${type.name} inside a complex value cannot be used.`, field.at);
}

/**
 * Integers are computed as numeric, which does not overflow; a divisor of zero gives null instead of failing the query, so
 * that the answer never tells whether a hidden row holds a zero.
 */
function arithmeticSql(expr: Arithmetic, w: SqlWriter): string {
  if (expr.form === 'shift') return shiftSql(expr, w);
  if (expr.form === 'difference') return differenceSql(expr, w);
  const result = numbersSql(expr, w);
  return expr.form === 'scale' ? `trunc(${result}, 12)` : result;
}

function numbersSql(expr: Arithmetic, w: SqlWriter): string {
  const left = toNumeric(expr.left, w);
  const right = expr.form === 'scale' ? finiteSql(expr.right, w) : toNumeric(expr.right, w);
  switch (expr.op) {
    case 'add':
      return `(${left} + ${right})`;
    case 'sub':
      return `(${left} - ${right})`;
    case 'mul':
      return `(${left} * ${right})`;
    case 'mod':
      return `mod(${left}, nullif(${right}, 0))`;
    case 'div':
    case 'divby':
      return expr.type.name === 'Edm.Int64'
        ? `div(${left}, nullif(${right}, 0))`
        : `(div(${left} * 1e${QUOTIENT_DIGITS}, nullif(${right}, 0)) * 1e-${QUOTIENT_DIGITS})`;
    default: {
      const never: never = expr.op;
      return never;
    }
  }
}

/** A number as numeric, null for INF and NaN where only a finite one makes sense. */
function finiteSql(expr: TypedValue, w: SqlWriter): string {
  const sql = toNumeric(expr, w);
  const name = valueType(expr)?.name;
  if (name !== 'Edm.Double' && name !== 'Edm.Single') return sql;
  return repeated(
    expr,
    sql,
    w,
    value =>
      `(case when ${value} > '-Infinity'::numeric and ${value} < 'Infinity'::numeric then ${value} end)`,
  );
}

function shiftSql(expr: Arithmetic, w: SqlWriter): string {
  const left = valueSql(expr.left, w);
  const moved = `(${left} ${expr.op === 'add' ? '+' : '-'} ${intervalSql(expr.right, w)})`;
  return expr.type.name === 'Edm.Date' ? `(${moved}::date)` : moved;
}

/** Hours and seconds apart: a second count alone overflows make_interval and loses microseconds. */
function intervalSql(duration: TypedValue, w: SqlWriter): string {
  if (duration.kind === 'literal' && duration.value.kind === 'duration') {
    return w.bind(intervalText(duration.value.picoseconds, duration.at), 'interval');
  }
  const most = MAX_COMPUTED_SHIFT_SECONDS;
  return repeated(duration, toNumeric(duration, w), w, sql => {
    const bounded = `trunc(case when ${sql} > ${most} then ${most} when ${sql} < -${most} then -${most} else ${sql} end, 6)`;
    return `make_interval(hours => div(${bounded}, 3600)::int, secs => mod(${bounded}, 3600)::float8)`;
  });
}

function differenceSql(expr: Arithmetic, w: SqlWriter): string {
  return `(extract(epoch from ${valueSql(expr.left, w)}) - extract(epoch from ${valueSql(expr.right, w)}))`;
}

/** Casts that are defined for every row: an integer out of range is null. */
function castSql(expr: TypedCast, w: SqlWriter): string {
  const from = valueType(expr.operand)?.name ?? '';
  const to = expr.type.name;
  if (to === 'Edm.String') return stringSql(expr.operand, from, w);
  if (from === 'Edm.DateTimeOffset') {
    return `((${valueSql(expr.operand, w)} at time zone 'UTC')::${to === 'Edm.Date' ? 'date' : 'time'})`;
  }
  if (from === 'Edm.Date') return `(${valueSql(expr.operand, w)}::timestamp at time zone 'UTC')`;
  const range = integerRange(to);
  if (range === null) return to === 'Edm.Decimal' ? finiteSql(expr.operand, w) : toNumeric(expr.operand, w);
  const number = toNumeric(expr.operand, w);
  const { least, greatest } = range;
  return repeated(
    expr.operand,
    number,
    w,
    sql => `(case when round(${sql}) between ${least} and ${greatest} then round(${sql}) end)`,
  );
}

function stringSql(operand: TypedValue, from: string, w: SqlWriter): string {
  if (/^Edm\.(Int|Decimal)/.test(from)) return `(trim_scale(${toNumeric(operand, w)})::text)`;
  const sql = valueSql(operand, w);
  return from === 'Edm.Date' ? `to_char(${sql}, 'YYYY-MM-DD')` : `(${sql}::text)`;
}

function countSql(expr: TypedCount, w: SqlWriter): string {
  const { collection, filter, variable } = expr;
  if (collection.kind === 'values' && filter === null)
    return `coalesce(cardinality(${arraySql(collection, w)}), 0)`;
  const { from, where } = members(collection, variable, w);
  const condition = filter === null ? where : `${where} and ${w.translate.condition(filter, 'where', w)}`;
  return `(select count(*) from ${from} where ${condition})`;
}
