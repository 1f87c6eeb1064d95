import type { Binary, Unary } from './ast.ts';
import { isNumeric } from './bind-operators.ts';
import { type Binder, type Scope, typeError } from './binder.ts';
import { PICOSECONDS } from './calendar.ts';
import { QUOTIENT_DIGITS } from './decimal.ts';
import { ExpressionError } from './expression-error.ts';
import { type PrimitiveName, type PrimitiveType, primitive, type ScalarType } from './model.ts';
import type { Arithmetic, TypedNegate, TypedNull, TypedValue } from './typed.ts';
import { valueType } from './typed.ts';

/**
 * Bounds that keep every intermediate result inside what Postgres can hold, so that no row's data can make a query fail:
 * numeric has 131,072 digits before the point, timestamps reach from 4713 BC to 294276 AD.
 */
const MAX_RESULT_DIGITS = 8000;
/** See MAX_RESULT_DIGITS; in picoseconds, 4000 years of 366 days. */
const MAX_SHIFT = 4000n * 366n * 86_400n * PICOSECONDS;
/** What a duration that is no literal is cut to when it shifts a point in time: 1000 years. */
export const MAX_COMPUTED_SHIFT_SECONDS = 31_622_400_000n;
const COLUMN_DIGITS = 330;
const INTEGER_DIGITS = 20;

type ArithmeticOperator = Arithmetic['op'];

/** Binds arithmetic. @throws ExpressionError `type` for operands it is not defined on, `limit` for results too large. */
export function bindArithmetic(
  expr: Binary,
  op: ArithmeticOperator,
  scope: Scope,
  binder: Binder,
): Arithmetic | TypedNull {
  const left = binder.bindIn(expr.left, scope);
  const right = binder.bindIn(expr.right, scope);
  const leftType = operandType(left, expr.left.at);
  const rightType = operandType(right, expr.right.at);
  if (leftType === null || rightType === null)
    return { kind: 'null', type: leftType ?? rightType, at: expr.opAt };
  const shape = shapeOf(op, leftType, rightType);
  if (shape === null) {
    const message = `${op} is not defined on ${leftType.name} and ${rightType.name}.`;
    throw typeError(message, expr.opAt, 'numbers, or dates and durations');
  }
  if ((op === 'div' || op === 'divby' || op === 'mod') && isZero(right)) {
    throw typeError('This divides by zero.', expr.right.at, 'a number that is not zero');
  }
  const [form, type] = shape;
  const flipped = form === 'scale' && leftType.name !== 'Edm.Duration';
  const node: Arithmetic = {
    kind: 'arithmetic',
    form,
    op,
    left: flipped ? right : left,
    right: flipped ? left : right,
    type: primitive(type),
    at: expr.opAt,
  };
  checkSize(node);
  return node;
}

function operandType(value: TypedValue, at: number): PrimitiveType | null {
  if (value.kind === 'null') return null;
  const type = valueType(value);
  if (type?.kind === 'primitive' && value.kind !== 'consumer') return type;
  throw typeError('This is no operand of arithmetic.', at, 'a number, date or duration');
}

function shapeOf(
  op: ArithmeticOperator,
  l: ScalarType,
  r: ScalarType,
): readonly [Arithmetic['form'], PrimitiveName] | null {
  if (isNumeric(l) && isNumeric(r)) return ['number', numberResult(op, l, r)];
  const additive = op === 'add' || op === 'sub';
  if (additive) return temporalShape(op, l.name, r.name);
  const scaling =
    (op === 'mul' || op === 'div' || op === 'divby') && l.name === 'Edm.Duration' && isNumeric(r);
  if (scaling) return ['scale', 'Edm.Duration'];
  return op === 'mul' && isNumeric(l) && r.name === 'Edm.Duration' ? ['scale', 'Edm.Duration'] : null;
}

function temporalShape(
  op: 'add' | 'sub',
  l: string,
  r: string,
): readonly [Arithmetic['form'], PrimitiveName] | null {
  if (l === 'Edm.Duration' && r === 'Edm.Duration') return ['duration', 'Edm.Duration'];
  if (l !== 'Edm.DateTimeOffset' && l !== 'Edm.Date') return null;
  if (r === 'Edm.Duration') return ['shift', l];
  return op === 'sub' && l === r ? ['difference', 'Edm.Duration'] : null;
}

function numberResult(op: ArithmeticOperator, l: ScalarType, r: ScalarType): PrimitiveName {
  const names = [l.name, r.name];
  if (names.includes('Edm.Double') || names.includes('Edm.Single')) return 'Edm.Double';
  return names.includes('Edm.Decimal') || op === 'divby' ? 'Edm.Decimal' : 'Edm.Int64';
}

function isZero(value: TypedValue): boolean {
  return value.kind === 'literal' && value.value.kind === 'number' && value.value.value.coefficient === 0n;
}

function checkSize(node: Arithmetic): void {
  if (node.form === 'shift') {
    if (shiftOf(node) <= MAX_SHIFT) return;
    throw new ExpressionError('limit', 'A point in time is moved by at most 4000 years.', node.at);
  }
  if (digitsOf(node) > MAX_RESULT_DIGITS) {
    throw new ExpressionError('limit', `A result has at most ${MAX_RESULT_DIGITS} digits.`, node.at);
  }
}

/** By how much a value can lie outside the years 0001 to 9999. */
function shiftOf(value: TypedValue): bigint {
  if (value.kind !== 'arithmetic' || value.form !== 'shift') return 0n;
  const { right } = value;
  const own =
    right.kind === 'literal' && right.value.kind === 'duration'
      ? right.value.picoseconds
      : MAX_COMPUTED_SHIFT_SECONDS * PICOSECONDS;
  return shiftOf(value.left) + (own < 0n ? -own : own);
}

/** An upper bound of the digits a result has before or behind its point. */
function digitsOf(value: TypedValue): number {
  if (value.kind === 'literal' && value.value.kind === 'number') {
    return Math.max(value.value.value.coefficient.toString().length, value.value.value.scale);
  }
  if (value.kind === 'negate') return digitsOf(value.operand);
  if (value.kind !== 'arithmetic')
    return valueType(value)?.name.startsWith('Edm.Int') ? INTEGER_DIGITS : COLUMN_DIGITS;
  const left = digitsOf(value.left);
  const right = digitsOf(value.right);
  return value.op === 'add' || value.op === 'sub'
    ? Math.max(left, right) + 1
    : left + right + QUOTIENT_DIGITS;
}

/** Binds a minus sign. @throws ExpressionError `type` unless a number or duration follows. */
export function bindNegate(expr: Unary, scope: Scope, binder: Binder): TypedNegate | TypedNull {
  const operand = binder.bindIn(expr.operand, scope);
  if (operand.kind === 'null') return operand;
  const type = valueType(operand);
  const fitting = type?.kind === 'primitive' && (isNumeric(type) || type.name === 'Edm.Duration');
  if (!fitting || operand.kind === 'consumer') {
    throw typeError('A minus stands before a number or duration.', expr.operand.at, 'a number or duration');
  }
  return { kind: 'negate', operand, type, at: expr.at };
}
