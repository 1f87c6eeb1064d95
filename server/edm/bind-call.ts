import type { Call, TypeCall } from './ast.ts';
import { castText, fits } from './bind-literal.ts';
import { adopt, isNumeric } from './bind-operators.ts';
import { type Binder, type Scope, typeError } from './binder.ts';
import { civilFromDays, clockText, PICOSECONDS, splitInstant } from './calendar.ts';
import { type Decimal, decimalOf, decimalText } from './decimal.ts';
import { ExpressionError } from './expression-error.ts';
import { FUNCTIONS, type FunctionShape, type ParameterKind } from './functions.ts';
import { type PrimitiveName, type PrimitiveType, primitive, type ScalarType } from './model.ts';
import type { ScalarValue, TypedCall, TypedLiteral, TypedValue } from './typed.ts';
import { valueType } from './typed.ts';

const ACCEPTED: Readonly<
  Record<ParameterKind, { readonly types: readonly PrimitiveName[]; readonly words: string }>
> = {
  string: { types: ['Edm.String'], words: 'a string' },
  integer: { types: ['Edm.Int16', 'Edm.Int32', 'Edm.Int64'], words: 'an integer' },
  number: {
    types: ['Edm.Int16', 'Edm.Int32', 'Edm.Int64', 'Edm.Decimal', 'Edm.Double', 'Edm.Single'],
    words: 'a number',
  },
  datetime: { types: ['Edm.Date', 'Edm.DateTimeOffset'], words: 'a date, or a date and time' },
  clock: { types: ['Edm.DateTimeOffset', 'Edm.TimeOfDay'], words: 'a time, or a date and time' },
  instant: { types: ['Edm.DateTimeOffset'], words: 'a date and time' },
  duration: { types: ['Edm.Duration'], words: 'a duration' },
};

/** Binds a call. @throws ExpressionError `type` naming the argument that does not fit. */
export function bindCall(expr: Call, scope: Scope, binder: Binder): TypedCall | TypedLiteral {
  const shape = FUNCTIONS.get(expr.name);
  if (shape === undefined)
    throw new ExpressionError('unknown-name', `There is no function ${expr.name}.`, expr.at);
  const args = expr.args.map((arg, index) => {
    const kind = shape.parameters[index] ?? 'string';
    return checkArgument(binder.bindIn(arg, scope), kind, shape, arg.at);
  });
  const [only] = args;
  if (only?.kind === 'literal' && only.value.kind === 'instant' && args.length === 1) {
    return foldInstant(shape, only.value.picoseconds, only.value.offsetMinutes, expr.at);
  }
  return { kind: 'call', name: shape.name, args, type: primitive(resultOf(shape, args)), at: expr.at };
}

/** Rounding a Double gives a Double, which may be INF or NaN; rounding anything else gives a Decimal. */
function resultOf(shape: FunctionShape, args: readonly TypedValue[]): PrimitiveName {
  const [only] = args;
  const name = only === undefined ? undefined : valueType(only)?.name;
  const fromDouble = shape.parameters[0] === 'number' && (name === 'Edm.Double' || name === 'Edm.Single');
  return fromDouble ? 'Edm.Double' : shape.result;
}

function checkArgument(value: TypedValue, kind: ParameterKind, shape: FunctionShape, at: number): TypedValue {
  const { types, words } = ACCEPTED[kind];
  const [first = 'Edm.String'] = types;
  if (value.kind === 'null') return adopt(value, primitive(first));
  if (value.kind === 'consumer' && kind === 'string') return adopt(value, primitive('Edm.String'));
  const type = valueType(value);
  if (type?.kind === 'primitive' && types.includes(type.name) && value.kind !== 'consumer') return value;
  const found = type === null ? '' : `, not ${type.name}`;
  throw typeError(`${shape.name} takes ${words} here${found}.`, at, words);
}

/** Functions of a literal see the literal's own offset, which a column of instants has no memory of. */
function foldInstant(
  shape: FunctionShape,
  picoseconds: bigint,
  offsetMinutes: number,
  at: number,
): TypedLiteral {
  const local = splitInstant(picoseconds + BigInt(offsetMinutes) * 60n * PICOSECONDS);
  const { year, month, day } = civilFromDays(local.days);
  const [hour = '0', minute = '0', second = '0'] = clockText(local.clock).split(/[:.]/);
  const whole = (value: number): ScalarValue => number(decimalOf(BigInt(value)));
  const values: Readonly<Record<string, () => ScalarValue>> = {
    year: () => whole(year),
    month: () => whole(month),
    day: () => whole(day),
    hour: () => whole(Number(hour)),
    minute: () => whole(Number(minute)),
    second: () => whole(Number(second)),
    fractionalseconds: () => number({ coefficient: local.clock % PICOSECONDS, scale: 12 }),
    totaloffsetminutes: () => whole(offsetMinutes),
    date: () => ({ kind: 'date', days: local.days }),
    time: () => ({ kind: 'time', picoseconds: local.clock }),
  };
  const value = values[shape.name]?.();
  if (value === undefined) throw new ExpressionError('type', `${shape.name} takes no date and time.`, at);
  return { kind: 'literal', type: primitive(shape.result), value, at };
}

function number(value: Decimal): ScalarValue {
  return { kind: 'number', value };
}

const OUTSIDE_MODEL = new Set(['Edm.Byte', 'Edm.SByte', 'Edm.Stream', 'Edm.Untyped']);
const PRIMITIVES: ReadonlySet<string> = new Set<PrimitiveName>([
  'Edm.Binary',
  'Edm.Boolean',
  'Edm.Date',
  'Edm.DateTimeOffset',
  'Edm.Decimal',
  'Edm.Double',
  'Edm.Duration',
  'Edm.Guid',
  'Edm.Int16',
  'Edm.Int32',
  'Edm.Int64',
  'Edm.Single',
  'Edm.String',
  'Edm.TimeOfDay',
]);

function namedType(expr: TypeCall, binder: Binder): ScalarType | null {
  const { typeName, typeAt } = expr;
  if (PRIMITIVES.has(typeName)) return primitive(typeName as PrimitiveName);
  const found = binder.options.model?.enumTypes.get(typeName);
  if (found !== undefined) return found;
  const entity =
    typeName === binder.it.qualifiedName || binder.options.model?.entityTypes.has(typeName) === true;
  if (entity) return null;
  if (OUTSIDE_MODEL.has(typeName) || /^Edm\.Geo/.test(typeName)) {
    throw new ExpressionError('unsupported', `The type ${typeName} is not supported.`, typeAt);
  }
  throw new ExpressionError('unknown-name', `There is no type ${typeName}.`, typeAt, 'a type');
}

/** Binds `cast` and `isof`. @throws ExpressionError `unsupported` for a cast that could fail on some row. */
export function bindTypeCall(expr: TypeCall, scope: Scope, binder: Binder): TypedValue {
  const type = namedType(expr, binder);
  if (expr.name === 'isof') return bindIsOf(expr, type, scope, binder);
  if (expr.operand === null || type === null) {
    throw new ExpressionError('unsupported', 'Casts to entity types are not supported.', expr.at);
  }
  const operand = binder.bindIn(expr.operand, scope);
  if (operand.kind === 'null') return { ...operand, type };
  const from = valueType(operand);
  if (from === null || operand.kind === 'consumer')
    throw typeError('This cannot be cast.', expr.operand.at, 'a value');
  if (from.name === type.name) return operand;
  if (operand.kind === 'literal') {
    const folded = foldCast(operand, type);
    if (folded !== null) return folded;
  }
  if (type.kind === 'enum' || from.kind === 'enum' || !castable(from, type)) {
    throw new ExpressionError(
      'unsupported',
      `A cast from ${from.name} to ${type.name} is not supported.`,
      expr.at,
    );
  }
  return { kind: 'cast', operand, type, at: expr.at };
}

function foldCast(literal: TypedLiteral, type: ScalarType): TypedLiteral | null {
  const { value, at } = literal;
  if (value.kind === 'string') return castText(value.value, type, at);
  if (value.kind === 'number' && type.kind === 'primitive' && isNumeric(type) && fits(literal, type.name)) {
    return { ...literal, type };
  }
  if (value.kind === 'number' && type.name === 'Edm.String') {
    const text = decimalText(value.value);
    return { kind: 'literal', type, value: { kind: 'string', value: text }, at };
  }
  return null;
}

const TO_STRING: ReadonlySet<string> = new Set<PrimitiveName>([
  'Edm.Int16',
  'Edm.Int32',
  'Edm.Int64',
  'Edm.Decimal',
  'Edm.Boolean',
  'Edm.Date',
  'Edm.Guid',
]);

function castable(from: PrimitiveType, to: PrimitiveType): boolean {
  if (isNumeric(from) && isNumeric(to)) return to.name !== 'Edm.Single';
  if (to.name === 'Edm.String') return TO_STRING.has(from.name);
  if (from.name === 'Edm.DateTimeOffset') return to.name === 'Edm.Date' || to.name === 'Edm.TimeOfDay';
  return from.name === 'Edm.Date' && to.name === 'Edm.DateTimeOffset';
}

function bindIsOf(expr: TypeCall, type: ScalarType | null, scope: Scope, binder: Binder): TypedValue {
  const constant = (value: boolean): TypedValue => ({
    kind: 'literal',
    type: primitive('Edm.Boolean'),
    value: { kind: 'boolean', value },
    at: expr.at,
  });
  if (expr.operand === null) return constant(expr.typeName === binder.it.qualifiedName);
  const operand = binder.bindIn(expr.operand, scope);
  const own = valueType(operand);
  if (operand.kind === 'null' || own === null || own.name !== type?.name) return constant(false);
  return {
    kind: 'compare',
    op: 'ne',
    left: operand,
    right: { kind: 'null', type, at: expr.at },
    at: expr.at,
  };
}
