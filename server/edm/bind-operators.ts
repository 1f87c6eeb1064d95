import type { Alias, Binary, Expr, In, List, Literal, Path } from './ast.ts';
import { aliasExpr, aliasList } from './bind-alias.ts';
import { bindLiteral, castText, enumScalar } from './bind-literal.ts';
import { resolveCollection, resolvePath } from './bind-path.ts';
import { type Binder, type Scope, typeError } from './binder.ts';
import { decimalOf, isInteger } from './decimal.ts';
import { ExpressionError } from './expression-error.ts';
import { type PrimitiveName, primitive, type ScalarType } from './model.ts';
import type { Compare, TypedHas, TypedIn, TypedLambda, TypedLiteral, TypedValue } from './typed.ts';
import { valueType } from './typed.ts';

const NUMERIC: ReadonlySet<string> = new Set<PrimitiveName>([
  'Edm.Int16',
  'Edm.Int32',
  'Edm.Int64',
  'Edm.Decimal',
  'Edm.Double',
  'Edm.Single',
]);
const UNORDERED: ReadonlySet<string> = new Set<PrimitiveName>(['Edm.Guid', 'Edm.Binary']);

/** True for the numeric primitive types. */
export function isNumeric(type: ScalarType): boolean {
  return type.kind === 'primitive' && NUMERIC.has(type.name);
}

/** True when values of the two types can be compared: the same type, or two numbers. */
function comparable(a: ScalarType, b: ScalarType): boolean {
  return a.name === b.name || (isNumeric(a) && isNumeric(b));
}

/**
 * Gives a literal the type of what it meets, where 4.01 lets it be written without its prefix: a string for an enumeration
 * or duration, a number for an enumeration; and gives null and `@consumer.X` their type.
 */
export function adopt(value: TypedValue, type: ScalarType): TypedValue {
  if (value.kind === 'null' || value.kind === 'consumer') return { ...value, type };
  if (value.kind !== 'literal' || value.type.name === type.name) return value;
  return adoptLiteral(value, type);
}

function adoptLiteral(literal: TypedLiteral, type: ScalarType): TypedLiteral {
  const { value, at } = literal;
  const prefixless = type.kind === 'enum' || type.name === 'Edm.Duration';
  if (value.kind === 'string' && prefixless) return castText(value.value, type, at);
  if (value.kind === 'number' && type.kind === 'enum' && isInteger(value.value)) {
    const whole = value.value.coefficient / decimalOf(10n ** BigInt(value.value.scale)).coefficient;
    return { kind: 'literal', type, value: enumScalar(whole, type), at };
  }
  return literal;
}

function mismatch(left: ScalarType, right: ScalarType, at: number): ExpressionError {
  const names = `${left.name} and ${right.name}`;
  const dates = new Set([left.name, right.name]);
  let hint = '';
  if (dates.has('Edm.Date') && dates.has('Edm.DateTimeOffset')) {
    hint =
      ': write a date and time with its offset, such as 2024-01-01T00:00:00Z, or compare date(...) with a date';
  } else if (dates.has('Edm.String')) hint = ': strings stand in single quotes, other literals do not';
  return typeError(`${names} cannot be compared${hint}.`, at, left.name);
}

/** Binds `eq ne gt ge lt le`. @throws ExpressionError `type` when the sides cannot be compared. */
export function bindCompare(expr: Binary, op: Compare['op'], scope: Scope, binder: Binder): Compare {
  let left = bindSide(expr.left, expr.right, scope, binder);
  let right = bindSide(expr.right, expr.left, scope, binder);
  const at = expr.opAt;
  const rightType = valueType(right);
  if (rightType !== null) left = adopt(left, rightType);
  const leftType = valueType(left);
  if (leftType !== null) right = adopt(right, leftType);
  if (left.kind === 'consumer' && right.kind === 'consumer') {
    throw typeError('An attribute of the consumer is compared with a property.', at, 'a property');
  }
  checkComparable(left, right, op, at, expr.right.at);
  return { kind: 'compare', op, left, right, at };
}

function checkComparable(
  left: TypedValue,
  right: TypedValue,
  op: Compare['op'],
  at: number,
  rightAt: number,
): void {
  if (left.kind === 'complexField' || right.kind === 'complexField') {
    const other = left.kind === 'complexField' ? right : left;
    if (other.kind === 'null' && (op === 'eq' || op === 'ne')) return;
    throw new ExpressionError('unsupported', 'A complex value can only be compared with null.', at);
  }
  const leftType = valueType(left);
  const rightType = valueType(right);
  if (leftType === null || rightType === null) return;
  if (!comparable(leftType, rightType)) throw mismatch(leftType, rightType, rightAt);
  checkEnumStorage(leftType, [left, right], at);
  if (op === 'eq' || op === 'ne') return;
  const unordered = leftType.kind === 'enum' ? leftType.storage === 'name' : UNORDERED.has(leftType.name);
  if (unordered) throw typeError(`${leftType.name} has no order; use eq or ne.`, at, 'eq or ne');
}

/** A column that holds names cannot hold a combination, so no row could ever match. */
function checkEnumStorage(type: ScalarType, values: readonly TypedValue[], at: number): void {
  if (type.kind !== 'enum' || type.storage === 'value') return;
  for (const value of values) {
    if (value.kind === 'literal' && value.value.kind === 'enum' && value.value.name === undefined) {
      throw typeError(`This is not one member of ${type.name}.`, at, `a member of ${type.name}`);
    }
  }
}

/** A side of a comparison; a relation to one row compared with null stands for that row's key. */
function bindSide(expr: Expr, other: Expr, scope: Scope, binder: Binder): TypedValue {
  const withNull = other.kind === 'literal' && other.literal === 'null';
  if (expr.kind !== 'path' || !withNull) return binder.bindIn(expr, scope);
  const resolved = resolvePath(expr, scope, binder);
  if (resolved.kind !== 'entity' || resolved.via.length === 0) return binder.bindIn(expr, scope);
  const [key = ''] = resolved.type.key;
  const steps = [...expr.segments, { name: key, at: expr.at }];
  return binder.bindIn({ ...expr, segments: steps }, scope);
}

/** Binds `has`. @throws ExpressionError `type` unless the left side is an enumeration kept as a number. */
export function bindHas(expr: Binary, scope: Scope, binder: Binder): TypedHas | TypedValue {
  const left = binder.bindIn(expr.left, scope);
  const type = valueType(left);
  if (type?.kind !== 'enum') throw typeError('has needs an enumeration.', expr.left.at, 'an enumeration');
  if (type.storage === 'name') {
    throw new ExpressionError('unsupported', `${type.name} holds one member at a time; use eq.`, expr.opAt);
  }
  const right = adopt(binder.bindIn(expr.right, scope), type);
  if (right.kind === 'null') return { kind: 'null', type: primitive('Edm.Boolean'), at: expr.opAt };
  if (right.kind !== 'literal' || right.type.name !== type.name) {
    throw typeError(`has needs a literal of ${type.name}.`, expr.right.at, `a literal of ${type.name}`);
  }
  return { kind: 'has', left, mask: right, at: expr.opAt };
}

/** Binds `in`, each item against the left side. @throws ExpressionError `type` naming the item. */
export function bindIn(expr: In, scope: Scope, binder: Binder): TypedIn | TypedLambda {
  const left = binder.bindIn(expr.left, scope);
  const type = valueType(left);
  if (left.kind === 'consumer' || (type === null && left.kind !== 'null')) {
    throw typeError('in needs a simple value before it.', expr.left.at, 'a property');
  }
  if (expr.right.kind === 'path') return bindInCollection(expr, expr.right, left, type, scope, binder);
  const items: TypedLiteral[] = [];
  let hasNull = false;
  for (const item of listItems(expr.right, binder)) {
    const bound = bindItem(item, type, binder);
    if (bound === null) hasNull = true;
    else items.push(bound);
  }
  if (type !== null) checkEnumStorage(type, items, expr.right.at);
  return { kind: 'in', left, items, hasNull, at: expr.at };
}

/** The items of a list, those of an alias with its place, since theirs is in another text. */
function listItems(right: List | Alias, binder: Binder): List['items'] {
  if (right.kind === 'list') return right.items;
  return aliasList(right, binder).items.map(item => ({ ...item, at: right.at }));
}

function bindItem(item: Literal | Alias, type: ScalarType | null, binder: Binder): TypedLiteral | null {
  const source = item.kind === 'alias' ? aliasExpr(item, binder) : item;
  if (source !== null && source.kind !== 'literal') {
    throw typeError('A list holds literals only.', item.at, 'a literal');
  }
  const literal = source === null ? null : bindLiteral({ ...source, at: item.at }, binder.options.model);
  if (literal === null || type === null) return literal;
  const bound = adoptLiteral(literal, type);
  if (!comparable(type, bound.type)) throw mismatch(type, bound.type, item.at);
  return bound;
}

/** `x in Tags` is `Tags/any(t:t eq x)`. */
function bindInCollection(
  expr: In,
  path: Path,
  left: TypedValue,
  type: ScalarType | null,
  scope: Scope,
  binder: Binder,
): TypedLambda {
  const collection = resolveCollection(path, scope, binder);
  if (collection.kind === 'rows')
    throw typeError('in needs simple values.', path.at, 'a collection of values');
  if (type !== null && !comparable(type, collection.element))
    throw mismatch(type, collection.element, path.at);
  const variable = scope.depth + 1;
  const right: TypedValue = {
    kind: 'element',
    id: variable,
    name: 'in',
    type: collection.element,
    at: path.at,
  };
  const body: TypedValue = {
    kind: 'compare',
    op: 'eq',
    left: adopt(left, collection.element),
    right,
    at: expr.at,
  };
  return { kind: 'any', collection, variable, body, at: expr.at };
}
