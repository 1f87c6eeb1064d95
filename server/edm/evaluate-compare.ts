import { compareDecimals, decimalOfDouble, decimalText } from './decimal.ts';
import type { Compare, ScalarValue, TypedValue } from './typed.ts';

type Operator = Compare['op'];

/** A comparison of two values with the expressions they come from: never null. */
export function compareValues(
  op: Operator,
  leftExpr: TypedValue,
  left: ScalarValue | null,
  rightExpr: TypedValue,
  right: ScalarValue | null,
): boolean {
  if (left === null || right === null) {
    const same = left === right;
    return op === 'eq' ? same : op === 'ne' ? !same : false;
  }
  const order = orderOf(rounded(left, leftExpr, rightExpr), rounded(right, rightExpr, leftExpr));
  switch (op) {
    case 'eq':
      return order === 0;
    case 'ne':
      return order !== 0;
    case 'gt':
      return order !== null && order > 0;
    case 'ge':
      return order !== null && order >= 0;
    case 'lt':
      return order !== null && order < 0;
    case 'le':
      return order !== null && order <= 0;
    default: {
      const never: never = op;
      return never;
    }
  }
}

/** True when the values are equal as `eq` has it. */
export function sameValue(
  leftExpr: TypedValue,
  left: ScalarValue,
  rightExpr: TypedValue,
  right: ScalarValue,
): boolean {
  return compareValues('eq', leftExpr, left, rightExpr, right);
}

/** A literal against a stored Double or Single is first rounded to that type, as the standard's promotion says. */
function rounded(value: ScalarValue, expr: TypedValue, other: TypedValue): ScalarValue {
  if (expr.kind !== 'literal' || value.kind !== 'number') return value;
  const stored =
    (other.kind === 'field' && other.json.length === 0) ||
    other.kind === 'element' ||
    other.kind === 'consumer';
  if (!stored || (other.type.name !== 'Edm.Double' && other.type.name !== 'Edm.Single')) return value;
  const double = Number(decimalText(value.value));
  const nearest = other.type.name === 'Edm.Single' ? Math.fround(double) : double;
  if (Number.isFinite(nearest)) return { kind: 'number', value: decimalOfDouble(nearest) };
  return { kind: 'special', value: nearest > 0 ? 'INF' : '-INF' };
}

/** Negative, 0 or positive; null when there is no order, as with NaN. */
function orderOf(a: ScalarValue, b: ScalarValue): number | null {
  if (isNumeric(a) && isNumeric(b)) return numberOrder(a, b);
  switch (a.kind) {
    case 'boolean':
      return b.kind === 'boolean' ? Number(a.value) - Number(b.value) : null;
    case 'string':
      return b.kind === 'string' ? Buffer.compare(Buffer.from(a.value), Buffer.from(b.value)) : null;
    case 'date':
      return b.kind === 'date' ? a.days - b.days : null;
    case 'time':
    case 'instant':
    case 'duration':
      return 'picoseconds' in b ? sign(a.picoseconds - b.picoseconds) : null;
    case 'guid':
      return b.kind === 'guid' && a.value === b.value ? 0 : 1;
    case 'binary':
      return b.kind === 'binary' &&
        Buffer.from(a.base64, 'base64url').equals(Buffer.from(b.base64, 'base64url'))
        ? 0
        : 1;
    case 'enum':
      return b.kind === 'enum' ? sign(a.value - b.value) : null;
    default:
      return null;
  }
}

type Numeric = ScalarValue & { readonly kind: 'number' | 'special' };

function isNumeric(value: ScalarValue): value is Numeric {
  return value.kind === 'number' || value.kind === 'special';
}

function numberOrder(a: Numeric, b: Numeric): number | null {
  if (a.kind === 'number' && b.kind === 'number') return compareDecimals(a.value, b.value);
  const x = rank(a);
  const y = rank(b);
  return Number.isNaN(x) || Number.isNaN(y) ? null : x === y ? 0 : x - y > 0 ? 1 : -1;
}

/** INF and -INF beside any finite number, which here counts as 0. */
function rank(value: Numeric): number {
  if (value.kind === 'number') return 0;
  return value.value === 'NaN' ? Number.NaN : value.value === 'INF' ? Infinity : -Infinity;
}

function sign(value: bigint): number {
  return value < 0n ? -1 : value > 0n ? 1 : 0;
}
