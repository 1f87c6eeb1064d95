import { arithmetic, negate } from './evaluate-arithmetic.ts';
import { call, cast } from './evaluate-call.ts';
import { compareValues, sameValue } from './evaluate-compare.ts';
import { rawValue } from './evaluate-raw.ts';
import type { EntityType, Property } from './model.ts';
import type {
  Collection,
  Compare,
  Field,
  NavigationStep,
  Origin,
  ScalarValue,
  TypedCount,
  TypedIn,
  TypedLambda,
  TypedLogic,
  TypedValue,
} from './typed.ts';

/**
 * A record by property name. Int64 and Decimal as bigint, number or exact text; Double and Single as number; dates, times,
 * instants and durations as ISO text; Binary as base64url; an enumeration as its name or number; collections as arrays,
 * complex values as objects; a relation as a record or an array of records.
 */
export interface Row {
  readonly [name: string]: unknown;
}

/** A value or null. */
export type Value = ScalarValue | null;

/** What evaluation needs beside the tree and the record. */
export interface EvaluateOptions {
  /** What `now()` is, in picoseconds since 1970-01-01T00:00:00Z. Required as soon as an expression asks. */
  readonly now?: bigint;
  /** The attributes of the consumer. @throws by itself for one that is missing. */
  readonly consumer?: (attribute: string) => ScalarValue;
  /** Whether a related record may be seen; all of them when absent. */
  readonly visible?: (target: EntityType, row: Row) => boolean;
}

/** Where a subtree is evaluated: the record filtered and the range variables, records or elements, by id. */
interface Place {
  readonly it: Row;
  readonly variables: ReadonlyMap<number, unknown>;
  readonly options: EvaluateOptions;
}

/**
 * The value of a bound expression on one record, by OData's three-valued rules and exact arithmetic: a second implementation
 * of what `filterToSql` says in SQL, against which that is tested.
 */
export function evaluate(expr: TypedValue, row: Row, options: EvaluateOptions = {}): Value {
  return resultOf(expr, { it: row, variables: new Map(), options });
}

/** True when the record passes the filter; null counts as false. */
export function evaluateFilter(expr: TypedValue, row: Row, options: EvaluateOptions = {}): boolean {
  return isTrue(evaluate(expr, row, options));
}

function isTrue(value: Value): boolean {
  return value?.kind === 'boolean' && value.value;
}

function boolean(value: boolean | null): Value {
  return value === null ? null : { kind: 'boolean', value };
}

function resultOf(expr: TypedValue, place: Place): Value {
  switch (expr.kind) {
    case 'literal':
      return expr.value;
    case 'null':
      return null;
    case 'field':
      return fieldOf(expr, place);
    case 'element':
      return rawValue(place.variables.get(expr.id), expr.type);
    case 'complexField':
      return presence(propertyOf(expr.origin, expr.via, expr.property, place));
    case 'consumer':
      return consumerOf(expr.attribute, place);
    case 'compare':
      return boolean(compare(expr, place));
    case 'in':
      return boolean(isIn(expr, place));
    case 'has': {
      const left = resultOf(expr.left, place);
      const mask = expr.mask.value.kind === 'enum' ? expr.mask.value.value : 0n;
      return left?.kind === 'enum' ? boolean((left.value & mask) === mask) : null;
    }
    case 'and':
    case 'or':
      return logic(expr, place);
    case 'not': {
      const operand = resultOf(expr.operand, place);
      return operand === null ? null : boolean(!isTrue(operand));
    }
    case 'negate':
      return negate(resultOf(expr.operand, place));
    case 'arithmetic':
      return arithmetic(expr, resultOf(expr.left, place), resultOf(expr.right, place));
    case 'call':
      return call(
        expr,
        expr.args.map(arg => resultOf(arg, place)),
        place.options.now,
      );
    case 'cast':
      return cast(resultOf(expr.operand, place), expr.type.name);
    case 'any':
    case 'all':
      return boolean(quantified(expr, place));
    case 'count':
      return count(expr, place);
    default: {
      const never: never = expr;
      return never;
    }
  }
}

function consumerOf(attribute: string, place: Place): Value {
  const value = place.options.consumer?.(attribute);
  if (value === undefined) throw new Error(`the consumer has no attribute ${attribute}`);
  return value;
}

/** and is false when an operand is, or is true when one is, null when only nulls are against it. */
function logic(expr: TypedLogic, place: Place): Value {
  const deciding = expr.kind === 'or';
  let unknown = false;
  for (const operand of expr.operands) {
    const value = resultOf(operand, place);
    if (value === null) unknown = true;
    else if (isTrue(value) === deciding) return boolean(deciding);
  }
  return unknown ? null : boolean(!deciding);
}

function compare(expr: Compare, place: Place): boolean {
  const left = resultOf(expr.left, place);
  const right = resultOf(expr.right, place);
  return compareValues(expr.op, expr.left, left, expr.right, right);
}

function isIn(expr: TypedIn, place: Place): boolean {
  const left = resultOf(expr.left, place);
  if (left === null) return expr.hasNull;
  return expr.items.some(item => sameValue(expr.left, left, item, item.value));
}

function startOf(origin: Origin, place: Place): Row | null {
  if (origin.kind === 'it') return place.it;
  const row = place.variables.get(origin.id);
  return isRow(row) ? row : null;
}

function isRow(value: unknown): value is Row {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isVisible(step: NavigationStep, row: unknown, place: Place): row is Row {
  return isRow(row) && (place.options.visible?.(step.target, row) ?? true);
}

function follow(origin: Origin, via: readonly NavigationStep[], place: Place): Row | null {
  let row = startOf(origin, place);
  for (const step of via) {
    const next: unknown = row?.[step.navigation.name];
    row = isVisible(step, next, place) ? next : null;
  }
  return row;
}

function propertyOf(
  origin: Origin,
  via: readonly NavigationStep[],
  property: Property,
  place: Place,
): unknown {
  return follow(origin, via, place)?.[property.name];
}

function fieldOf(field: Field, place: Place): Value {
  let raw = propertyOf(field.origin, field.via, field.property, place);
  for (const member of field.json) raw = isRow(raw) ? raw[member.name] : null;
  if (field.json.length > 0 && !hasJsonType(raw, field.type.name)) return null;
  return rawValue(raw, field.type);
}

/** A member of a complex value that does not hold what its type says is null. */
function hasJsonType(raw: unknown, type: string): boolean {
  if (type === 'Edm.String') return typeof raw === 'string';
  if (type === 'Edm.Boolean') return typeof raw === 'boolean';
  return typeof raw === 'number' || typeof raw === 'bigint';
}

/** A complex value is only ever compared with null; any value stands for its being there. */
function presence(raw: unknown): Value {
  return raw === null || raw === undefined ? null : { kind: 'boolean', value: true };
}

function membersOf(collection: Collection, place: Place): readonly unknown[] {
  if (collection.kind === 'values') {
    const raw = propertyOf(collection.origin, collection.via, collection.property, place);
    return Array.isArray(raw) ? raw : [];
  }
  const { step } = collection;
  const raw: unknown = follow(collection.origin, collection.via, place)?.[step.navigation.name];
  return Array.isArray(raw) ? raw.filter((row: unknown) => isVisible(step, row, place)) : [];
}

function holdsFor(body: TypedValue, variable: number, member: unknown, place: Place): boolean {
  const variables = new Map(place.variables).set(variable, member);
  return isTrue(resultOf(body, { ...place, variables }));
}

function quantified(expr: TypedLambda, place: Place): boolean {
  const members = membersOf(expr.collection, place);
  const { body, variable } = expr;
  if (body === null) return members.length > 0;
  const holds = (member: unknown): boolean => holdsFor(body, variable, member, place);
  return expr.kind === 'any' ? members.some(holds) : members.every(holds);
}

function count(expr: TypedCount, place: Place): Value {
  const members = membersOf(expr.collection, place);
  const { filter, variable } = expr;
  const counted =
    filter === null ? members : members.filter(member => holdsFor(filter, variable, member, place));
  return { kind: 'number', value: { coefficient: BigInt(counted.length), scale: 0 } };
}
