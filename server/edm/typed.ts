import type { Decimal } from './decimal.ts';
import type { EntityType, NavigationProperty, PrimitiveType, Property, ScalarType } from './model.ts';

/**
 * An exact scalar value. Times count picoseconds (the 12 fraction digits OData allows): `time` since midnight, `instant`
 * since 1970-01-01T00:00:00Z, `duration` signed. `date` counts days since 1970-01-01. `special` is a Double's NaN or INF.
 * `enum` has the number; its `name` is the member's when exactly one member has that number.
 */
export type ScalarValue =
  | { readonly kind: 'boolean'; readonly value: boolean }
  | { readonly kind: 'number'; readonly value: Decimal }
  | { readonly kind: 'special'; readonly value: 'NaN' | 'INF' | '-INF' }
  | { readonly kind: 'string'; readonly value: string }
  | { readonly kind: 'date'; readonly days: number }
  | { readonly kind: 'time'; readonly picoseconds: bigint }
  | { readonly kind: 'instant'; readonly picoseconds: bigint; readonly offsetMinutes: number }
  | { readonly kind: 'duration'; readonly picoseconds: bigint }
  | { readonly kind: 'guid'; readonly value: string }
  | { readonly kind: 'binary'; readonly base64: string }
  | { readonly kind: 'enum'; readonly value: bigint; readonly name: string | undefined };

/** What a path starts from: the instance filtered, or a range variable of the enclosing any/all, by its depth from 1. */
export type Origin =
  | { readonly kind: 'it' }
  | { readonly kind: 'variable'; readonly id: number; readonly name: string };

/** A scalar reached from a row: over `via` (single-valued relations), then `property`, then `json` inside a complex value. */
export interface Field {
  readonly kind: 'field';
  readonly origin: Origin;
  readonly via: readonly NavigationStep[];
  readonly property: Property;
  readonly json: readonly Property[];
  readonly type: ScalarType;
  readonly nullable: boolean;
  readonly at: number;
}

/** A relation followed, with the type it leads to. */
export interface NavigationStep {
  readonly navigation: NavigationProperty;
  readonly target: EntityType;
}

/** The element that a range variable over a collection of scalars stands for. */
export interface Element {
  readonly kind: 'element';
  readonly id: number;
  readonly name: string;
  readonly type: ScalarType;
  readonly at: number;
}

/** A complex value as such, compared only with null. */
export interface ComplexField {
  readonly kind: 'complexField';
  readonly origin: Origin;
  readonly via: readonly NavigationStep[];
  readonly property: Property;
  readonly at: number;
}

/** A collection: the values of a property, or the rows of a relation (`navigation`, with single-valued steps before it). */
export type Collection =
  | {
      readonly kind: 'values';
      readonly origin: Origin;
      readonly via: readonly NavigationStep[];
      readonly property: Property;
      readonly element: ScalarType;
    }
  | {
      readonly kind: 'rows';
      readonly origin: Origin;
      readonly via: readonly NavigationStep[];
      readonly step: NavigationStep;
    };

/** A literal with its exact value. */
export interface TypedLiteral {
  readonly kind: 'literal';
  readonly type: ScalarType;
  readonly value: ScalarValue;
  readonly at: number;
}

/** `null`, of the type its surroundings ask for, or none. */
export interface TypedNull {
  readonly kind: 'null';
  readonly type: ScalarType | null;
  readonly at: number;
}

/** `@consumer.Attribute`, of the type of what it is compared with. Never null: a missing attribute is an error when resolved. */
export interface TypedConsumer {
  readonly kind: 'consumer';
  readonly attribute: string;
  readonly type: ScalarType;
  readonly at: number;
}

/** A comparison: never null. `eq`/`ne` treat null as a value, the others are false with null. */
export interface Compare {
  readonly kind: 'compare';
  readonly op: 'eq' | 'ne' | 'gt' | 'ge' | 'lt' | 'le';
  readonly left: TypedValue;
  readonly right: TypedValue;
  readonly at: number;
}

/** `value in (items)`: never null. `hasNull` when null is among the items. */
export interface TypedIn {
  readonly kind: 'in';
  readonly left: TypedValue;
  readonly items: readonly TypedLiteral[];
  readonly hasNull: boolean;
  readonly at: number;
}

/** `flags has literal`; null when the left side is. */
export interface TypedHas {
  readonly kind: 'has';
  readonly left: TypedValue;
  readonly mask: TypedLiteral;
  readonly at: number;
}

/** Three-valued and/or/not. */
export interface TypedLogic {
  readonly kind: 'and' | 'or';
  readonly operands: readonly TypedValue[];
  readonly at: number;
}

/** Three-valued not. */
export interface TypedNot {
  readonly kind: 'not';
  readonly operand: TypedValue;
  readonly at: number;
}

/** Minus a number or duration. */
export interface TypedNegate {
  readonly kind: 'negate';
  readonly operand: TypedValue;
  readonly type: PrimitiveType;
  readonly at: number;
}

/**
 * Arithmetic. `form` says on what: numbers; a point in time (DateTimeOffset or Date) plus or minus a duration; the
 * difference of two points in time; durations among themselves; a duration times or by a number (`scale`, duration left).
 */
export interface Arithmetic {
  readonly kind: 'arithmetic';
  readonly form: 'number' | 'shift' | 'difference' | 'duration' | 'scale';
  readonly op: 'add' | 'sub' | 'mul' | 'div' | 'divby' | 'mod';
  readonly left: TypedValue;
  readonly right: TypedValue;
  readonly type: PrimitiveType;
  readonly at: number;
}

/** A function of the standard with checked arguments. */
export interface TypedCall {
  readonly kind: 'call';
  readonly name: FunctionName;
  readonly args: readonly TypedValue[];
  readonly type: PrimitiveType;
  readonly at: number;
}

/** A cast that cannot fail in SQL: number to number, anything simple to string, DateTimeOffset to Date or TimeOfDay. */
export interface TypedCast {
  readonly kind: 'cast';
  readonly operand: TypedValue;
  readonly type: PrimitiveType;
  readonly at: number;
}

/** any/all. `variable` is the id of the range variable; `any()` has no body. Never null. */
export interface TypedLambda {
  readonly kind: 'any' | 'all';
  readonly collection: Collection;
  readonly variable: number;
  readonly body: TypedValue | null;
  readonly at: number;
}

/** The size of a collection, of those members for which `filter` is true. Never null. */
export interface TypedCount {
  readonly kind: 'count';
  readonly collection: Collection;
  readonly variable: number;
  readonly filter: TypedValue | null;
  readonly at: number;
}

/** The functions that are served. */
export type FunctionName =
  | 'ceiling'
  | 'concat'
  | 'contains'
  | 'date'
  | 'day'
  | 'endswith'
  | 'floor'
  | 'fractionalseconds'
  | 'hour'
  | 'indexof'
  | 'length'
  | 'maxdatetime'
  | 'mindatetime'
  | 'minute'
  | 'month'
  | 'now'
  | 'round'
  | 'second'
  | 'startswith'
  | 'substring'
  | 'time'
  | 'tolower'
  | 'totaloffsetminutes'
  | 'totalseconds'
  | 'toupper'
  | 'trim'
  | 'year';

/** A typed expression: every name resolved, every type checked. Its type is `valueType(expr)`. */
export type TypedValue =
  | TypedLiteral
  | TypedNull
  | Field
  | Element
  | ComplexField
  | TypedConsumer
  | Compare
  | TypedIn
  | TypedHas
  | TypedLogic
  | TypedNot
  | TypedNegate
  | Arithmetic
  | TypedCall
  | TypedCast
  | TypedLambda
  | TypedCount;

const BOOLEAN: PrimitiveType = { kind: 'primitive', name: 'Edm.Boolean' };
const INT64: PrimitiveType = { kind: 'primitive', name: 'Edm.Int64' };

/** The type of a typed expression; null for `null` of no known type and for complex values. */
export function valueType(expr: TypedValue): ScalarType | null {
  switch (expr.kind) {
    case 'complexField':
      return null;
    case 'count':
      return INT64;
    case 'compare':
    case 'in':
    case 'has':
    case 'and':
    case 'or':
    case 'not':
    case 'any':
    case 'all':
      return BOOLEAN;
    default:
      return expr.type;
  }
}

/** True when the expression can be null for some row. */
export function isNullable(expr: TypedValue): boolean {
  switch (expr.kind) {
    case 'null':
    case 'element':
    case 'complexField':
      return true;
    case 'field':
      return expr.nullable;
    case 'literal':
    case 'consumer':
    case 'compare':
    case 'in':
    case 'any':
    case 'all':
    case 'count':
      return false;
    case 'has':
      return isNullable(expr.left);
    case 'and':
    case 'or':
      return expr.operands.some(isNullable);
    case 'not':
    case 'negate':
      return isNullable(expr.operand);
    case 'cast':
      return true;
    case 'arithmetic':
      return (
        expr.op === 'div' ||
        expr.op === 'divby' ||
        expr.op === 'mod' ||
        isNullable(expr.left) ||
        isNullable(expr.right)
      );
    case 'call':
      return expr.args.some(isNullable);
    default: {
      const never: never = expr;
      return never;
    }
  }
}

/** The direct operands of a typed expression, for analyses such as "which consumer attributes does this rule use". */
export function operandsOf(expr: TypedValue): readonly TypedValue[] {
  switch (expr.kind) {
    case 'compare':
    case 'arithmetic':
      return [expr.left, expr.right];
    case 'in':
      return [expr.left];
    case 'has':
      return [expr.left, expr.mask];
    case 'and':
    case 'or':
      return expr.operands;
    case 'not':
    case 'negate':
    case 'cast':
      return [expr.operand];
    case 'call':
      return expr.args;
    case 'any':
    case 'all':
      return expr.body === null ? [] : [expr.body];
    case 'count':
      return expr.filter === null ? [] : [expr.filter];
    case 'literal':
    case 'null':
    case 'field':
    case 'element':
    case 'complexField':
    case 'consumer':
      return [];
    default: {
      const never: never = expr;
      return never;
    }
  }
}
