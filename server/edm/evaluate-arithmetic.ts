import { MAX_COMPUTED_SHIFT_SECONDS } from './bind-arithmetic.ts';
import { PICOSECONDS, PICOSECONDS_PER_MICROSECOND, splitInstant } from './calendar.ts';
import {
  addDecimals,
  type Decimal,
  decimalOf,
  divideDecimals,
  multiplyDecimals,
  negateDecimal,
  QUOTIENT_DIGITS,
  remainderOfDecimals,
} from './decimal.ts';
import type { Arithmetic, ScalarValue } from './typed.ts';

type Value = ScalarValue | null;
const DAY = 86_400n * PICOSECONDS;

/** Minus a number or duration. */
export function negate(value: Value): Value {
  if (value?.kind === 'number') return number(negateDecimal(value.value));
  if (value?.kind === 'duration') return { kind: 'duration', picoseconds: -value.picoseconds };
  if (value?.kind === 'special' && value.value !== 'NaN') {
    return { kind: 'special', value: value.value === 'INF' ? '-INF' : 'INF' };
  }
  return value;
}

function number(value: Decimal | null): Value {
  return value === null ? null : { kind: 'number', value };
}

/** The result of an arithmetic node; null with a null operand and for a divisor of zero. */
export function arithmetic(expr: Arithmetic, left: Value, right: Value): Value {
  if (left === null || right === null) return null;
  switch (expr.form) {
    case 'number':
      return ofNumbers(expr, left, right);
    case 'shift':
      return shift(expr, left, right);
    case 'difference':
      return { kind: 'duration', picoseconds: pointOf(left) - pointOf(right) };
    case 'duration': {
      const [x, y] = [pointOf(left), pointOf(right)];
      return { kind: 'duration', picoseconds: expr.op === 'add' ? x + y : x - y };
    }
    case 'scale':
      return scaled(expr, left, right);
    default: {
      const never: never = expr.form;
      return never;
    }
  }
}

function pointOf(value: ScalarValue): bigint {
  if (value.kind === 'date') return BigInt(value.days) * DAY;
  if ('picoseconds' in value) return value.picoseconds;
  throw new Error(`a ${value.kind} is no point in time`);
}

function ofNumbers(expr: Arithmetic, left: ScalarValue, right: ScalarValue): Value {
  if (left.kind !== 'number' || right.kind !== 'number') return ofSpecials(expr.op, left, right);
  const [a, b] = [left.value, right.value];
  switch (expr.op) {
    case 'add':
      return number(addDecimals(a, b));
    case 'sub':
      return number(addDecimals(a, negateDecimal(b)));
    case 'mul':
      return number(multiplyDecimals(a, b));
    case 'mod':
      return number(remainderOfDecimals(a, b));
    case 'div':
    case 'divby':
      return number(divideDecimals(a, b, expr.type.name === 'Edm.Int64' ? 0 : QUOTIENT_DIGITS));
    default: {
      const never: never = expr.op;
      return never;
    }
  }
}

/** With INF or NaN the result of doubles is that of decimals too; only a divisor of zero is null. */
function ofSpecials(op: Arithmetic['op'], left: ScalarValue, right: ScalarValue): Value {
  const [x, y] = [toDouble(left), toDouble(right)];
  const divides = op === 'div' || op === 'divby' || op === 'mod';
  if (divides && y === 0) return null;
  const result = divides ? quotient(op, x, y) : op === 'add' ? x + y : op === 'sub' ? x - y : x * y;
  if (Number.isNaN(result)) return { kind: 'special', value: 'NaN' };
  if (result === Infinity || result === -Infinity)
    return { kind: 'special', value: result > 0 ? 'INF' : '-INF' };
  return left.kind === 'number' && op === 'mod' ? left : number(decimalOf(0n));
}

function quotient(op: Arithmetic['op'], x: number, y: number): number {
  return op === 'mod' ? x % y : x / y;
}

/** Only the sign and being zero of a finite number matter beside INF and NaN. */
function toDouble(value: ScalarValue): number {
  if (value.kind === 'number')
    return value.value.coefficient === 0n ? 0 : value.value.coefficient > 0n ? 1 : -1;
  if (value.kind !== 'special') throw new Error(`a ${value.kind} is no number`);
  return value.value === 'NaN' ? Number.NaN : value.value === 'INF' ? Infinity : -Infinity;
}

function shift(expr: Arithmetic, left: ScalarValue, right: ScalarValue): Value {
  const literal = expr.right.kind === 'literal';
  const distance = literal ? pointOf(right) : computedShift(pointOf(right));
  const moved = pointOf(left) + (expr.op === 'add' ? distance : -distance);
  return left.kind === 'date'
    ? { kind: 'date', days: splitInstant(moved).days }
    : { kind: 'instant', picoseconds: moved, offsetMinutes: 0 };
}

/** A computed duration moves by whole microseconds and by at most 1000 years, which keeps SQL within its range. */
function computedShift(picoseconds: bigint): bigint {
  const most = MAX_COMPUTED_SHIFT_SECONDS * PICOSECONDS;
  const bounded = picoseconds > most ? most : picoseconds < -most ? -most : picoseconds;
  return bounded - (bounded % PICOSECONDS_PER_MICROSECOND);
}

/** Durations count seconds exactly, so scaling one keeps 20 digits of a second and then whole picoseconds. */
function scaled(expr: Arithmetic, left: ScalarValue, right: ScalarValue): Value {
  if (right.kind !== 'number') return null;
  const factor = right.value;
  const seconds: Decimal = { coefficient: pointOf(left), scale: 12 };
  const result =
    expr.op === 'mul' ? multiplyDecimals(seconds, factor) : divideDecimals(seconds, factor, QUOTIENT_DIGITS);
  if (result === null) return null;
  const [scale, coefficient] = [BigInt(result.scale), result.coefficient];
  const unit = scale >= 12n ? 10n ** (scale - 12n) : 1n;
  return {
    kind: 'duration',
    picoseconds: scale >= 12n ? coefficient / unit : coefficient * 10n ** (12n - scale),
  };
}
