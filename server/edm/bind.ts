import type { Binary, Count, Expr, Lambda, Logic, OrderItem } from './ast.ts';
import { expandAlias } from './bind-alias.ts';
import { bindArithmetic, bindNegate } from './bind-arithmetic.ts';
import { bindCall, bindTypeCall } from './bind-call.ts';
import { bindLiteral } from './bind-literal.ts';
import { bindCompare, bindHas, bindIn } from './bind-operators.ts';
import { bindPath, resolveCollection } from './bind-path.ts';
import { type Binder, type BindOptions, type Instance, type Scope, spend, typeError } from './binder.ts';
import { DEFAULT_LIMITS } from './limits.ts';
import { type EntityType, primitive } from './model.ts';
import type { Collection, TypedValue } from './typed.ts';
import { valueType } from './typed.ts';

/** An expression without aliases has at most `maxNodes`; aliases may double that. */
function budgetOf(options: BindOptions): number {
  return 2 * (options.parse?.limits?.maxNodes ?? DEFAULT_LIMITS.maxNodes);
}

/** One `$orderby` item, typed. */
export interface TypedOrderItem {
  readonly expr: TypedValue;
  readonly descending: boolean;
}

/**
 * Resolves and types an expression over one entity type, before any SQL exists.
 * @throws ExpressionError `unknown-name` or `type` with the position and what was expected there.
 */
export function bindExpression(expr: Expr, type: EntityType, options: BindOptions = {}): TypedValue {
  const binder: Binder = {
    it: type,
    options,
    bindIn: (inner, scope) => bindNode(inner, scope, binder),
    expanding: new Set(),
    budget: budgetOf(options),
  };
  const current: Instance = { kind: 'row', origin: { kind: 'it' }, type };
  return bindNode(expr, { variables: new Map(), current, depth: 0 }, binder);
}

/** Binds a `$filter`: an expression that is true, false or null. @throws ExpressionError as bindExpression. */
export function bindFilter(expr: Expr, type: EntityType, options: BindOptions = {}): TypedValue {
  return truth(bindExpression(expr, type, options), expr.at);
}

/** Binds an `$orderby`. @throws ExpressionError as bindExpression, and for what has no order. */
export function bindOrderBy(
  items: readonly OrderItem[],
  type: EntityType,
  options: BindOptions = {},
): readonly TypedOrderItem[] {
  return items.map(item => {
    const expr = bindExpression(item.expr, type, options);
    if (valueType(expr) === null || expr.kind === 'consumer') {
      throw typeError('This has no order.', item.expr.at, 'a simple value');
    }
    return { expr, descending: item.descending };
  });
}

function bindNode(expr: Expr, scope: Scope, binder: Binder): TypedValue {
  spend(binder, 1, expr.at);
  switch (expr.kind) {
    case 'literal':
      return bindLiteral(expr, binder.options.model) ?? { kind: 'null', type: null, at: expr.at };
    case 'path':
      return bindPath(expr, scope, binder);
    case 'alias':
      return expandAlias(expr, binder, inner =>
        inner === null ? { kind: 'null', type: null, at: expr.at } : bindNode(inner, scope, binder),
      );
    case 'consumer':
      return { kind: 'consumer', attribute: expr.attribute, type: primitive('Edm.String'), at: expr.at };
    case 'and':
    case 'or':
      return bindLogic(expr, scope, binder);
    case 'not':
      return {
        kind: 'not',
        operand: truth(bindNode(expr.operand, scope, binder), expr.operand.at),
        at: expr.at,
      };
    case 'negate':
      return bindNegate(expr, scope, binder);
    case 'binary':
      return bindBinary(expr, scope, binder);
    case 'in':
      return bindIn(expr, scope, binder);
    case 'call':
      return bindCall(expr, scope, binder);
    case 'typeCall':
      return bindTypeCall(expr, scope, binder);
    case 'lambda':
      return bindLambda(expr, scope, binder);
    case 'count':
      return bindCount(expr, scope, binder);
    default: {
      const never: never = expr;
      return never;
    }
  }
}

function bindLogic(expr: Logic, scope: Scope, binder: Binder): TypedValue {
  const operands = expr.operands.map(operand => truth(bindNode(operand, scope, binder), operand.at));
  return { kind: expr.kind, operands, at: expr.at };
}

function bindBinary(expr: Binary, scope: Scope, binder: Binder): TypedValue {
  switch (expr.op) {
    case 'eq':
    case 'ne':
    case 'gt':
    case 'ge':
    case 'lt':
    case 'le':
      return bindCompare(expr, expr.op, scope, binder);
    case 'has':
      return bindHas(expr, scope, binder);
    default:
      return bindArithmetic(expr, expr.op, scope, binder);
  }
}

/** Checks that a value is true, false or null, and gives a bare null its type. */
function truth(value: TypedValue, at: number): TypedValue {
  if (value.kind === 'null') return { ...value, type: primitive('Edm.Boolean') };
  if (value.kind !== 'consumer' && valueType(value)?.name === 'Edm.Boolean') return value;
  throw typeError('This is neither true nor false.', at, 'a condition');
}

function memberScope(collection: Collection, name: string, scope: Scope): { id: number; instance: Instance } {
  const id = scope.depth + 1;
  const instance: Instance =
    collection.kind === 'rows'
      ? { kind: 'row', origin: { kind: 'variable', id, name }, type: collection.step.target }
      : { kind: 'value', id, name, type: collection.element };
  return { id, instance };
}

function bindLambda(expr: Lambda, scope: Scope, binder: Binder): TypedValue {
  const collection = resolveCollection(expr.source, scope, binder);
  const { id, instance } = memberScope(collection, expr.variable ?? '', scope);
  if (expr.variable === null || expr.body === null) {
    return { kind: expr.quantifier, collection, variable: id, body: null, at: expr.at };
  }
  if (scope.variables.has(expr.variable)) {
    throw typeError(`The range variable ${expr.variable} is already in use.`, expr.body.at, 'another name');
  }
  const variables = new Map(scope.variables).set(expr.variable, instance);
  const body = bindNode(expr.body, { ...scope, variables, depth: id }, binder);
  return { kind: expr.quantifier, collection, variable: id, body: truth(body, expr.body.at), at: expr.at };
}

/** Within `$count($filter=...)` names mean members of the collection; within any and all they mean the outer instance. */
function bindCount(expr: Count, scope: Scope, binder: Binder): TypedValue {
  const collection = resolveCollection(expr.source, scope, binder);
  const { id, instance } = memberScope(collection, '$this', scope);
  if (expr.filter === null) return { kind: 'count', collection, variable: id, filter: null, at: expr.at };
  const filter = bindNode(expr.filter, { ...scope, current: instance, depth: id }, binder);
  return { kind: 'count', collection, variable: id, filter: truth(filter, expr.filter.at), at: expr.at };
}
