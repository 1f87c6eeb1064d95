import { clockText, dateText, instantText, PICOSECONDS, PICOSECONDS_PER_MICROSECOND } from './calendar.ts';
import { type Decimal, decimalText } from './decimal.ts';
import { ExpressionError } from './expression-error.ts';
import type { ScalarType } from './model.ts';
import { type SqlValue, type SqlWriter, sqlTypeOf } from './sql-writer.ts';
import type { ScalarValue, TypedLiteral } from './typed.ts';

/** The exact decimal of a duration in seconds. */
export function secondsOf(picoseconds: bigint): Decimal {
  return { coefficient: picoseconds, scale: 12 };
}

/** True when Postgres, with its microseconds, can hold the time exactly. */
export function isWholeMicroseconds(picoseconds: bigint): boolean {
  return picoseconds % PICOSECONDS_PER_MICROSECOND === 0n;
}

/** Cuts a time or instant to the microsecond at or before it. */
export function floorMicroseconds(picoseconds: bigint): bigint {
  const rest = picoseconds % PICOSECONDS_PER_MICROSECOND;
  return picoseconds - (rest < 0n ? rest + PICOSECONDS_PER_MICROSECOND : rest);
}

/** The text of a double or single as Postgres reads it; what is too large becomes infinite and what is too small zero, as IEEE says. */
export function floatText(value: ScalarValue, single: boolean): string {
  const number = toDouble(value);
  const rounded = single ? Math.fround(number) : number;
  return Number.isFinite(rounded)
    ? String(rounded)
    : rounded > 0
      ? 'Infinity'
      : rounded < 0
        ? '-Infinity'
        : 'NaN';
}

/** The nearest double of a numeric literal. */
export function toDouble(value: ScalarValue): number {
  if (value.kind === 'number') return Number(decimalText(value.value));
  if (value.kind !== 'special') throw new Error(`a ${value.kind} is no number`);
  return value.value === 'NaN' ? Number.NaN : value.value === 'INF' ? Infinity : -Infinity;
}

/** The text of a numeric literal as numeric. */
export function numericText(value: ScalarValue): string {
  if (value.kind === 'number') return decimalText(value.value);
  if (value.kind === 'special')
    return value.value === 'NaN' ? 'NaN' : value.value === 'INF' ? 'Infinity' : '-Infinity';
  throw new Error(`a ${value.kind} is no number`);
}

/** The value to bind for a literal of `type`, in the form of sqlTypeOf(type). */
export function boundValue(value: ScalarValue, type: ScalarType, at: number): SqlValue {
  switch (value.kind) {
    case 'boolean':
    case 'string':
    case 'guid':
      return value.value;
    case 'number':
    case 'special':
      return type.name === 'Edm.Double' || type.name === 'Edm.Single'
        ? floatText(value, type.name === 'Edm.Single')
        : numericText(value);
    case 'date':
      return dateText(value.days);
    case 'time':
      return clockText(exactMicroseconds(value.picoseconds, at));
    case 'instant':
      return instantText(exactMicroseconds(value.picoseconds, at));
    case 'duration':
      return decimalText(secondsOf(value.picoseconds));
    case 'binary':
      return Uint8Array.from(Buffer.from(value.base64, 'base64url'));
    case 'enum':
      return type.kind === 'enum' && type.storage === 'name' ? (value.name ?? '') : value.value.toString();
    default: {
      const never: never = value;
      return never;
    }
  }
}

/** The placeholder of a literal in its type's SQL form; integers and decimals as numeric unless `type` is an integer's. */
export function literalSql(literal: TypedLiteral, w: SqlWriter): string {
  const { type, value, at } = literal;
  if (value.kind === 'boolean') return value.value ? 'true' : 'false';
  const cast = value.kind === 'number' || value.kind === 'special' ? 'numeric' : sqlTypeOf(type);
  const bound =
    cast === 'numeric' && value.kind !== 'duration' ? numericText(value) : boundValue(value, type, at);
  return w.bind(bound, cast);
}

function exactMicroseconds(picoseconds: bigint, at: number): bigint {
  if (isWholeMicroseconds(picoseconds)) return picoseconds;
  const message = 'More than 6 fraction digits are supported only where a time is compared with a property.';
  throw new ExpressionError('limit', message, at, 'at most 6 fraction digits');
}

/** The interval of a literal duration, in units that every supported Postgres reads without overflow. */
export function intervalText(picoseconds: bigint, at: number): string {
  const exact = exactMicroseconds(picoseconds, at);
  const hour = 3600n * PICOSECONDS;
  return `${exact / hour} hours ${decimalText(secondsOf(exact % hour))} seconds`;
}
