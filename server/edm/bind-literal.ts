import type { Literal } from './ast.ts';
import {
  daysOfDate,
  FIRST_DAY,
  instantOfText,
  LAST_DAY,
  picosecondsOfClock,
  picosecondsOfDuration,
  splitInstant,
} from './calendar.ts';
import { type Decimal, decimalOf, isInteger, parseDecimal } from './decimal.ts';
import { ExpressionError } from './expression-error.ts';
import type { EdmModel, EnumType, PrimitiveName, ScalarType } from './model.ts';
import { primitive } from './model.ts';
import { isDuration, readToken } from './tokenize.ts';
import type { ScalarValue, TypedLiteral } from './typed.ts';

const MAX_DIGITS = 1000;
const MAX_EXPONENT = 400;
const INT64_MAX = 9223372036854775807n;
const INT64_MIN = -9223372036854775808n;

/** A literal of a known class with its exact value, typed by itself alone; null for `null`. */
export function bindLiteral(literal: Literal, model: EdmModel | undefined): TypedLiteral | null {
  const { at, text } = literal;
  const typed = (name: PrimitiveName, value: ScalarValue): TypedLiteral => ({
    kind: 'literal',
    type: primitive(name),
    value,
    at,
  });
  switch (literal.literal) {
    case 'null':
      return null;
    case 'boolean':
      return typed('Edm.Boolean', { kind: 'boolean', value: text.toLowerCase() === 'true' });
    case 'string':
      return typed('Edm.String', { kind: 'string', value: text });
    case 'number':
      return numberLiteral(text, at);
    case 'date':
      return typed('Edm.Date', dateValue(text, at));
    case 'timeOfDay':
      return typed('Edm.TimeOfDay', { kind: 'time', picoseconds: picosecondsOfClock(text) });
    case 'dateTimeOffset':
      return typed('Edm.DateTimeOffset', instantValue(text, at));
    case 'duration':
      return typed('Edm.Duration', { kind: 'duration', picoseconds: picosecondsOfDuration(text) });
    case 'guid':
      return typed('Edm.Guid', { kind: 'guid', value: text.toLowerCase() });
    case 'binary':
      return typed('Edm.Binary', { kind: 'binary', base64: text });
    case 'enum':
      return enumLiteral(literal, model);
    default: {
      const never: never = literal.literal;
      return never;
    }
  }
}

function numberLiteral(text: string, at: number): TypedLiteral {
  if (text === 'INF' || text === '-INF' || text === 'NaN') {
    return { kind: 'literal', type: primitive('Edm.Double'), value: { kind: 'special', value: text }, at };
  }
  const value = boundedDecimal(text, at);
  const whole = /^[+-]?\d+$/.test(text) && value.coefficient <= INT64_MAX && value.coefficient >= INT64_MIN;
  return {
    kind: 'literal',
    type: primitive(whole ? 'Edm.Int64' : 'Edm.Decimal'),
    value: { kind: 'number', value },
    at,
  };
}

function boundedDecimal(text: string, at: number): Decimal {
  const exponent = /[eE]([+-]?\d+)$/.exec(text)?.[1] ?? '0';
  if (text.length > MAX_DIGITS || Math.abs(Number(exponent)) > MAX_EXPONENT) {
    const message = `A number has at most ${MAX_DIGITS} digits and an exponent within ${MAX_EXPONENT}.`;
    throw new ExpressionError('limit', message, at);
  }
  return parseDecimal(text);
}

function dateValue(text: string, at: number): ScalarValue {
  const days = daysOfDate(text);
  if (days < FIRST_DAY || days > LAST_DAY) throw outsideYears(at);
  return { kind: 'date', days };
}

function instantValue(text: string, at: number): ScalarValue {
  const instant = instantOfText(text);
  const { days } = splitInstant(instant.picoseconds);
  if (days < FIRST_DAY || days > LAST_DAY) throw outsideYears(at);
  return { kind: 'instant', ...instant };
}

function outsideYears(at: number): ExpressionError {
  return new ExpressionError('limit', 'Dates are supported in the years 0001 to 9999.', at);
}

function enumLiteral(literal: Literal, model: EdmModel | undefined): TypedLiteral {
  const name = literal.enumType ?? '';
  const type = model?.enumTypes.get(name);
  if (type === undefined)
    throw new ExpressionError('unknown-name', `There is no enumeration ${name}.`, literal.at);
  return { kind: 'literal', type, value: enumValue(literal.text, type, literal.at), at: literal.at };
}

/** The value of `A`, `32` or, for flags, `A,B`. @throws ExpressionError for an unknown member. */
export function enumValue(text: string, type: EnumType, at: number): ScalarValue {
  const parts = text.split(',');
  if (parts.length > 1 && !type.flags) {
    throw new ExpressionError(
      'type',
      `${type.name} is not flags: one member only.`,
      at,
      `a member of ${type.name}`,
    );
  }
  let value = 0n;
  for (const part of parts) {
    const member = type.members.find(candidate => candidate.name === part);
    if (member === undefined && !/^[+-]?\d{1,19}$/.test(part)) {
      const expected = `a member of ${type.name}`;
      throw new ExpressionError('type', `${type.name} has no member '${part}'.`, at, expected);
    }
    value |= member?.value ?? BigInt(part);
  }
  return enumScalar(value, type);
}

/** The enumeration value of a number. */
export function enumScalar(value: bigint, type: EnumType): ScalarValue {
  return { kind: 'enum', value, name: type.members.find(member => member.value === value)?.name };
}

const INTEGER_BITS: Readonly<Partial<Record<PrimitiveName, number>>> = {
  'Edm.Int16': 16,
  'Edm.Int32': 32,
  'Edm.Int64': 64,
};

/** Least and greatest value of an integer type; null for other types. */
export function integerRange(
  name: PrimitiveName,
): { readonly least: bigint; readonly greatest: bigint } | null {
  const bits = INTEGER_BITS[name];
  if (bits === undefined) return null;
  const half = 1n << BigInt(bits - 1);
  return { least: -half, greatest: half - 1n };
}

/**
 * The literal that `cast('text',Type)` states. @throws ExpressionError `type` when the text is not a literal of the type:
 * URL Conventions 5.1.1.10 leaves a failing cast null, but a constant that can never be anything is a client's mistake.
 */
export function castText(text: string, type: ScalarType, at: number): TypedLiteral {
  const bad = (): ExpressionError =>
    new ExpressionError('type', `'${text}' is not a value of ${type.name}.`, at, `a value of ${type.name}`);
  if (type.kind === 'enum') return { kind: 'literal', type, value: enumValue(text, type, at), at };
  if (type.name === 'Edm.String')
    return { kind: 'literal', type, value: { kind: 'string', value: text }, at };
  if (type.name === 'Edm.Duration') {
    if (!isDuration(text)) throw bad();
    return {
      kind: 'literal',
      type,
      value: { kind: 'duration', picoseconds: picosecondsOfDuration(text) },
      at,
    };
  }
  const found = wholeLiteral(text);
  const literal = found === null ? null : bindLiteral({ ...found, at }, undefined);
  if (literal === null || !fits(literal, type.name)) throw bad();
  return { ...literal, type };
}

function wholeLiteral(text: string): Literal | null {
  const scanner = { text, pos: 0 };
  try {
    const token = readToken(scanner);
    if (token.kind !== 'literal' || token.literal === 'string' || scanner.pos !== text.length) return null;
    return { kind: 'literal', literal: token.literal, text: token.text, at: 0, end: text.length };
  } catch (error) {
    if (error instanceof ExpressionError) return null;
    throw error;
  }
}

/** True when the literal's value is one of the type: numbers by range and fraction, the rest by class. */
export function fits(literal: TypedLiteral, name: PrimitiveName): boolean {
  const { value } = literal;
  if (value.kind === 'special') return name === 'Edm.Double' || name === 'Edm.Single';
  if (value.kind !== 'number') return literal.type.name === name;
  const range = integerRange(name);
  if (range === null) return name === 'Edm.Decimal' || name === 'Edm.Double' || name === 'Edm.Single';
  if (!isInteger(value.value)) return false;
  const whole = value.value.coefficient / decimalOf(10n ** BigInt(value.value.scale)).coefficient;
  return whole >= range.least && whole <= range.greatest;
}
