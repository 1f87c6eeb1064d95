import { PICOSECONDS_PER_MICROSECOND } from './calendar.ts';
import { type Decimal, floorDecimal, isInteger } from './decimal.ts';
import { ExpressionError } from './expression-error.ts';
import { boundValue, floatText, floorMicroseconds, isWholeMicroseconds, numericText } from './sql-literal.ts';
import { isNativeInteger, nativeFloat, toNumeric } from './sql-number.ts';
import { isAtomic, type Mode, repeated, type SqlWriter, sqlTypeOf } from './sql-writer.ts';
import type { Compare, TypedIn, TypedLiteral, TypedValue } from './typed.ts';
import { isNullable, valueType } from './typed.ts';

type Operator = Compare['op'];

const SQL_OPERATOR: Readonly<Record<Operator, string>> = {
  eq: '=',
  ne: '<>',
  gt: '>',
  ge: '>=',
  lt: '<',
  le: '<=',
};
const FLIPPED: Readonly<Record<Operator, Operator>> = {
  eq: 'eq',
  ne: 'ne',
  gt: 'lt',
  ge: 'le',
  lt: 'gt',
  le: 'ge',
};
const INT64_MAX = 9223372036854775807n;
const INT64_MIN = -9223372036854775808n;

/** A side as SQL, and whether it can be null. */
interface Side {
  readonly sql: string;
  readonly nullable: boolean;
}

/** A comparison: true or false for every row, apart from a null for false in `where`. */
export function compareSql(expr: Compare, mode: Mode, w: SqlWriter): string {
  const { op, left, right } = expr;
  if (left.kind === 'null' || right.kind === 'null')
    return withNull(op, left.kind === 'null' ? right : left, w);
  if (left.kind === 'literal' && right.kind !== 'literal') {
    return compareSql({ ...expr, op: FLIPPED[op], left: right, right: left }, mode, w);
  }
  const type = valueType(left);
  if (isNumber(type?.name)) return compareNumbers(op, left, right, mode, w);
  if (type?.name === 'Edm.String') return compareStrings(op, left, right, mode, w);
  if (right.kind === 'literal' && left.kind !== 'literal') {
    const rounded = roundTime(op, right);
    if (rounded === false || rounded === true) return rounded ? 'true' : 'false';
    return comparison(rounded.op, side(left, w), side(rounded.right, w), mode);
  }
  return comparison(op, side(left, w), side(right, w), mode);
}

function isNumber(name: string | undefined): boolean {
  return name !== undefined && /^Edm\.(Int|Decimal|Double|Single)/.test(name);
}

function side(expr: TypedValue, w: SqlWriter): Side {
  return { sql: w.translate.value(expr, w), nullable: isNullable(expr) };
}

/** eq and ne treat null as a value; the others are false with it. */
function withNull(op: Operator, other: TypedValue, w: SqlWriter): string {
  if (op !== 'eq' && op !== 'ne') return 'false';
  if (other.kind === 'null') return op === 'eq' ? 'true' : 'false';
  return `${w.translate.value(other, w)} is ${op === 'eq' ? '' : 'not '}null`;
}

function comparison(op: Operator, left: Side, right: Side, mode: Mode): string {
  const nullable = left.nullable || right.nullable;
  if (op === 'eq' && left.nullable && right.nullable)
    return `(${left.sql} is not distinct from ${right.sql})`;
  if (op === 'ne' && nullable) return `(${left.sql} is distinct from ${right.sql})`;
  const bare = `${left.sql} ${SQL_OPERATOR[op]} ${right.sql}`;
  return nullable && mode === 'exact' ? `((${bare}) is true)` : `(${bare})`;
}

/** Order is that of code points ("C"), so that it is the same on every server and fits that of `$orderby`. */
function compareStrings(op: Operator, left: TypedValue, right: TypedValue, mode: Mode, w: SqlWriter): string {
  const l = side(left, w);
  const r = side(right, w);
  const equality = op === 'eq' || op === 'ne';
  const twoColumns = right.kind !== 'literal' && right.kind !== 'consumer' && left.kind !== 'consumer';
  if (equality && !twoColumns) return comparison(op, l, r, mode);
  const collated = (one: Side): Side => ({ ...one, sql: `(${one.sql}) collate "C"` });
  return comparison(op, collated(l), collated(r), mode);
}

/**
 * A literal finer than a microsecond lies between two values that a column can hold, so it is compared by the one below:
 * never equal, and greater or not.
 */
function roundTime(
  op: Operator,
  right: TypedLiteral,
): boolean | { readonly op: Operator; readonly right: TypedLiteral } {
  const { value } = right;
  if ((value.kind !== 'instant' && value.kind !== 'time') || isWholeMicroseconds(value.picoseconds))
    return { op, right };
  if (op === 'eq' || op === 'ne') return op === 'ne';
  const floored = { ...value, picoseconds: floorMicroseconds(value.picoseconds) };
  return { op: op === 'gt' || op === 'ge' ? 'gt' : 'le', right: { ...right, value: floored } };
}

/** True when a value computed from doubles could be NaN, which Postgres orders above all and IEEE 754 beside all. */
function mayBeNaN(expr: TypedValue): boolean {
  const name = valueType(expr)?.name;
  return expr.kind === 'literal'
    ? expr.value.kind === 'special'
    : name === 'Edm.Double' || name === 'Edm.Single';
}

function compareNumbers(op: Operator, left: TypedValue, right: TypedValue, mode: Mode, w: SqlWriter): string {
  if (right.kind === 'literal' && left.kind !== 'literal') return compareWithNumber(op, left, right, mode, w);
  if (nativeFloat(left) > 0 && nativeFloat(right) > 0) {
    return guarded(op, side(left, w), side(right, w), mode, { left, right }, 'float8', w);
  }
  const suspect = { left: mayBeNaN(left) ? left : null, right: mayBeNaN(right) ? right : null };
  const convert = suspect.left !== null || suspect.right !== null;
  const l = { sql: convert ? toNumeric(left, w) : w.translate.value(left, w), nullable: isNullable(left) };
  const r = { sql: convert ? toNumeric(right, w) : w.translate.value(right, w), nullable: isNullable(right) };
  return guarded(op, l, r, mode, suspect, 'numeric', w);
}

function compareWithNumber(
  op: Operator,
  left: TypedValue,
  right: TypedLiteral,
  mode: Mode,
  w: SqlWriter,
): string {
  const { value } = right;
  if (value.kind === 'special' && value.value === 'NaN') return op === 'ne' ? 'true' : 'false';
  const float = nativeFloat(left);
  const l = { sql: w.translate.value(left, w), nullable: isNullable(left) };
  if (float > 0) {
    const bound = w.bind(floatText(value, float === 4), `float${float}`);
    return guarded(op, l, { sql: bound, nullable: false }, mode, { left, right: null }, 'float8', w);
  }
  if (isNativeInteger(left)) {
    if (value.kind === 'special') return beyond(op, value.value === 'INF', l);
    if (value.kind === 'number') return compareWithInteger(op, l, value.value, mode, w);
  }
  const bound = w.bind(numericText(value), 'numeric');
  const suspect = { left: mayBeNaN(left) ? left : null, right: null };
  return guarded(op, l, { sql: bound, nullable: false }, mode, suspect, 'numeric', w);
}

/**
 * A literal against an integer column becomes a bigint, so that an index on the column serves: a fraction is replaced by the
 * integer below it, and what no bigint reaches decides the comparison by itself.
 */
function compareWithInteger(op: Operator, left: Side, value: Decimal, mode: Mode, w: SqlWriter): string {
  let operator = op;
  if (!isInteger(value)) {
    if (op === 'eq' || op === 'ne') return op === 'ne' ? 'true' : 'false';
    operator = op === 'gt' || op === 'ge' ? 'gt' : 'le';
  }
  const whole = floorDecimal(value).coefficient;
  if (whole > INT64_MAX || whole < INT64_MIN) return beyond(operator, whole > INT64_MAX, left);
  return comparison(operator, left, { sql: w.bind(whole.toString(), 'bigint'), nullable: false }, mode);
}

/** A column against a number above (or below) all that it can hold. */
function beyond(op: Operator, above: boolean, left: Side): string {
  if (op === 'eq' || op === 'ne') return op === 'ne' ? 'true' : 'false';
  const holds = above ? op === 'lt' || op === 'le' : op === 'gt' || op === 'ge';
  if (!holds) return 'false';
  return left.nullable ? `(${left.sql} is not null)` : 'true';
}

/** A comparison in which NaN equals nothing and is neither less nor greater, where `suspect` names the sides that may be NaN. */
function guarded(
  op: Operator,
  left: Side,
  right: Side,
  mode: Mode,
  suspect: { readonly left: TypedValue | null; readonly right: TypedValue | null },
  type: 'float8' | 'numeric',
  w: SqlWriter,
): string {
  const nan = `'NaN'::${type}`;
  if (op !== 'eq' && op !== 'ne') {
    // NaN sorts above all numbers, so only the greater side can be it; as null it makes the comparison false.
    const greater = op === 'gt' || op === 'ge';
    const upper = greater ? suspect.left : suspect.right;
    if (upper === null) return comparison(op, left, right, mode);
    if (isAtomic(upper)) {
      // A bare column on the left lets its index serve.
      const checkedToo = `${left.sql} ${SQL_OPERATOR[op]} ${right.sql} and ${(greater ? left : right).sql} <> ${nan}`;
      return mode === 'exact' && (left.nullable || right.nullable)
        ? `((${checkedToo}) is true)`
        : `(${checkedToo})`;
    }
    const checked = (side: Side): Side => ({ sql: `nullif(${side.sql}, ${nan})`, nullable: true });
    return greater ? comparison(op, checked(left), right, mode) : comparison(op, left, checked(right), mode);
  }
  if (suspect.left === null || suspect.right === null) return comparison(op, left, right, mode);
  return repeated(suspect.left, left.sql, w, sql => {
    const plain = comparison(op, { ...left, sql }, right, mode);
    return op === 'eq'
      ? `(${plain} and (${sql} <> ${nan}) is not false)`
      : `(${plain} or (${sql} = ${nan}) is true)`;
  });
}

/** `in`: one array parameter, however many items. Never null in `exact`. */
export function inSql(expr: TypedIn, mode: Mode, w: SqlWriter): string {
  const { left, items, hasNull } = expr;
  if (left.kind === 'null') return hasNull ? 'true' : 'false';
  const nullable = isNullable(left);
  const [type, values] = arrayOf(left, items);
  const array = values.length === 0 ? null : w.bind(values, `${type}[]`);
  const member = (sql: string): string => {
    if (array === null) return 'false';
    return nullable && mode === 'exact' ? `((${sql} = any(${array})) is true)` : `(${sql} = any(${array}))`;
  };
  const sql = w.translate.value(left, w);
  if (!hasNull || !nullable) return member(sql);
  return repeated(left, sql, w, value => `(${member(value)} or ${value} is null)`);
}

/** The array's element type and its items, without those that no value of the left side can equal. */
function arrayOf(
  left: TypedValue,
  items: readonly TypedLiteral[],
): readonly [string, readonly string[] | readonly boolean[]] {
  const type = valueType(left);
  if (type === null) throw new Error('in without a type');
  const float = nativeFloat(left);
  if (float > 0)
    return [
      `float${float}`,
      items.map(item => floatText(item.value, float === 4)).filter(text => text !== 'NaN'),
    ];
  if (isNumber(type.name)) {
    const integer = isNativeInteger(left);
    const fitting = items.filter(({ value }) =>
      integer ? isBigint(value) : value.kind !== 'special' || value.value !== 'NaN',
    );
    const text = (item: TypedLiteral): string =>
      integer && item.value.kind === 'number'
        ? floorDecimal(item.value.value).coefficient.toString()
        : numericText(item.value);
    return [integer ? 'bigint' : 'numeric', fitting.map(text)];
  }
  if (type.name === 'Edm.Binary')
    throw new ExpressionError('unsupported', 'in is not supported on binary.', left.at);
  if (type.name === 'Edm.Boolean') {
    return ['boolean', items.flatMap(({ value }) => (value.kind === 'boolean' ? [value.value] : []))];
  }
  const exact = items.filter(
    ({ value }) => !('picoseconds' in value) || value.kind === 'duration' || isWhole(value.picoseconds),
  );
  return [sqlTypeOf(type), exact.map(item => String(boundValue(item.value, type, item.at)))];
}

function isWhole(picoseconds: bigint): boolean {
  return picoseconds % PICOSECONDS_PER_MICROSECOND === 0n;
}

function isBigint(value: TypedLiteral['value']): boolean {
  if (value.kind !== 'number' || !isInteger(value.value)) return false;
  const whole = floorDecimal(value.value).coefficient;
  return whole <= INT64_MAX && whole >= INT64_MIN;
}
