import { integerRange } from './bind-literal.ts';
import { civilFromDays, dateText, PICOSECONDS, splitInstant } from './calendar.ts';
import {
  ceilingDecimal,
  type Decimal,
  decimalOf,
  decimalText,
  floorDecimal,
  roundDecimal,
} from './decimal.ts';
import type { PrimitiveName } from './model.ts';
import type { ScalarValue, TypedCall } from './typed.ts';
import { EARLIEST_INSTANT, LATEST_INSTANT, WHITE_SPACE } from './values.ts';

type Value = ScalarValue | null;

/** The result of a function; null when an argument is. `now` in picoseconds since 1970. */
export function call(expr: TypedCall, args: readonly Value[], now: bigint | undefined): Value {
  const given: ScalarValue[] = [];
  for (const arg of args) {
    if (arg === null) return null;
    given.push(arg);
  }
  const [first, second, third] = given;
  switch (expr.name) {
    case 'now':
      if (now === undefined)
        throw new Error('the expression asks for now(), but the caller did not say when that is');
      return instant(now);
    case 'mindatetime':
      return instant(EARLIEST_INSTANT);
    case 'maxdatetime':
      return instant(LATEST_INSTANT);
    default:
  }
  if (first === undefined) throw new Error(`${expr.name} without an argument`);
  if (first.kind === 'string') return ofString(expr.name, first.value, second, third);
  if (first.kind === 'number' || first.kind === 'special') return ofNumber(expr.name, first);
  if (first.kind === 'duration') return number({ coefficient: first.picoseconds, scale: 12 });
  return ofTime(expr.name, first);
}

function instant(picoseconds: bigint): Value {
  return { kind: 'instant', picoseconds, offsetMinutes: 0 };
}

function number(value: Decimal): Value {
  return { kind: 'number', value };
}

function integer(value: number): Value {
  return number(decimalOf(BigInt(value)));
}

function string(value: string): Value {
  return { kind: 'string', value };
}

function boolean(value: boolean): Value {
  return { kind: 'boolean', value };
}

function ofString(name: string, text: string, second: Value | undefined, third: Value | undefined): Value {
  const other = second?.kind === 'string' ? second.value : '';
  switch (name) {
    case 'contains':
      return boolean(text.includes(other));
    case 'startswith':
      return boolean(text.startsWith(other));
    case 'endswith':
      return boolean(text.endsWith(other));
    case 'indexof': {
      const found = text.indexOf(other);
      return integer(found < 0 ? -1 : [...text.slice(0, found)].length);
    }
    case 'length':
      return integer([...text].length);
    case 'tolower':
      return string(mapCharacters(text, point => point.toLowerCase()));
    case 'toupper':
      return string(mapCharacters(text, point => point.toUpperCase()));
    case 'trim':
      return string(trim(text));
    case 'concat':
      return string(text + other);
    case 'substring': {
      const points = [...text];
      const from = position(second);
      return string(
        points.slice(from, third === undefined ? points.length : from + position(third)).join(''),
      );
    }
    default:
      throw new Error(`${name} takes no string`);
  }
}

/** Postgres maps character by character, so a character that would become several stays. */
function mapCharacters(text: string, map: (point: string) => string): string {
  return [...text].map(point => ([...map(point)].length === 1 ? map(point) : point)).join('');
}

function trim(text: string): string {
  const points = [...text];
  let start = 0;
  let end = points.length;
  while (start < end && WHITE_SPACE.includes(points[start] ?? '')) start += 1;
  while (end > start && WHITE_SPACE.includes(points[end - 1] ?? '')) end -= 1;
  return points.slice(start, end).join('');
}

function position(value: Value | undefined): number {
  if (value?.kind !== 'number') throw new Error('a position is a number');
  const whole = floorDecimal(value.value).coefficient;
  return whole < 0n ? 0 : whole > 1_000_000_000n ? 1_000_000_000 : Number(whole);
}

function ofNumber(name: string, value: ScalarValue): Value {
  if (value.kind !== 'number') return value;
  switch (name) {
    case 'round':
      return number(roundDecimal(value.value));
    case 'floor':
      return number(floorDecimal(value.value));
    case 'ceiling':
      return number(ceilingDecimal(value.value));
    default:
      throw new Error(`${name} takes no number`);
  }
}

function ofTime(name: string, value: ScalarValue): Value {
  const { days, clock } = partsOf(value);
  const seconds = Number(clock / PICOSECONDS);
  const civil = civilFromDays(days);
  switch (name) {
    case 'year':
      return integer(civil.year);
    case 'month':
      return integer(civil.month);
    case 'day':
      return integer(civil.day);
    case 'hour':
      return integer(Math.floor(seconds / 3600));
    case 'minute':
      return integer(Math.floor(seconds / 60) % 60);
    case 'second':
      return integer(seconds % 60);
    case 'fractionalseconds':
      return number({ coefficient: clock % PICOSECONDS, scale: 12 });
    case 'totaloffsetminutes':
      return integer(0);
    case 'date':
      return { kind: 'date', days };
    case 'time':
      return { kind: 'time', picoseconds: clock };
    default:
      throw new Error(`${name} takes no time`);
  }
}

/** The day and the time of day in UTC. */
function partsOf(value: ScalarValue): { readonly days: number; readonly clock: bigint } {
  if (value.kind === 'date') return { days: value.days, clock: 0n };
  if (value.kind === 'time') return { days: 0, clock: value.picoseconds };
  if (value.kind === 'instant') return splitInstant(value.picoseconds);
  throw new Error(`a ${value.kind} is no time`);
}

/** A cast as bound: an integer out of range is null. */
export function cast(value: Value, to: PrimitiveName): Value {
  if (value === null) return null;
  if (to === 'Edm.String') return string(textOf(value));
  if (to === 'Edm.Date') return { kind: 'date', days: partsOf(value).days };
  if (to === 'Edm.TimeOfDay') return { kind: 'time', picoseconds: partsOf(value).clock };
  if (to === 'Edm.DateTimeOffset') return instant(BigInt(partsOf(value).days) * 86_400n * PICOSECONDS);
  const range = integerRange(to);
  if (range === null) return to === 'Edm.Decimal' && value.kind === 'special' ? null : value;
  if (value.kind !== 'number') return null;
  const rounded = roundDecimal(value.value);
  return rounded.coefficient < range.least || rounded.coefficient > range.greatest ? null : number(rounded);
}

function textOf(value: ScalarValue): string {
  switch (value.kind) {
    case 'boolean':
      return String(value.value);
    case 'number':
      return value.value.scale === 0
        ? decimalText(value.value)
        : decimalText(value.value).replace(/\.?0+$/, '');
    case 'date':
      return dateText(value.days);
    case 'string':
    case 'guid':
      return value.value;
    default:
      throw new Error(`a ${value.kind} has no text`);
  }
}
