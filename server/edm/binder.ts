import type { Expr } from './ast.ts';
import { ExpressionError } from './expression-error.ts';
import type { EdmModel, EntityType, ScalarType } from './model.ts';
import type { ParseOptions } from './parser-state.ts';
import type { Origin, TypedValue } from './typed.ts';

/** What binding needs beside the tree. */
export interface BindOptions {
  /** Where relations lead and enumeration literals are looked up; without it relations cannot be followed. */
  readonly model?: EdmModel;
  /** Parameter aliases by name without `@`, the text as decoded from the query; an alias that is missing is null. */
  readonly aliases?: ReadonlyMap<string, string>;
  /** Limits for the texts of aliases; what the expressions were parsed with. */
  readonly parse?: ParseOptions;
  /** True inside `$expand`, where `$it` is an instance of another collection and refused. */
  readonly nested?: boolean;
}

/** A range variable, or the instance meant by names without one. */
export type Instance =
  | { readonly kind: 'row'; readonly origin: Origin; readonly type: EntityType }
  | { readonly kind: 'value'; readonly id: number; readonly name: string; readonly type: ScalarType };

/** The names in scope at a place. `current` is what a path without variable starts from. */
export interface Scope {
  readonly variables: ReadonlyMap<string, Instance>;
  readonly current: Instance;
  readonly depth: number;
}

/** A running binding. `bindIn` binds a subtree; it is here so that the parts of binding can call each other. */
export interface Binder {
  readonly it: EntityType;
  readonly options: BindOptions;
  readonly bindIn: (expr: Expr, scope: Scope) => TypedValue;
  /** Aliases being expanded, against cycles. */
  readonly expanding: Set<string>;
  /** Nodes and alias items left, since aliases that name aliases multiply. */
  budget: number;
}

/** Takes `cost` from what may still be bound. @throws ExpressionError `limit`. */
export function spend(binder: Binder, cost: number, at: number): void {
  binder.budget -= cost;
  if (binder.budget < 0) throw new ExpressionError('limit', 'The parameter aliases expand to too much.', at);
}

/** A type error that says what was expected. */
export function typeError(message: string, at: number, expected: string): ExpressionError {
  return new ExpressionError('type', message, at, expected);
}
