import type { Alias, Expr, List } from './ast.ts';
import { type Binder, spend, typeError } from './binder.ts';
import { ExpressionError } from './expression-error.ts';
import { parseExpression } from './parse.ts';
import { parseList } from './parse-list.ts';
import { accept, startParse } from './parser-state.ts';
import { skipSpace } from './tokenize.ts';

/** Bounds the height of the tree that results: each alias may be as high as an expression. */
const MAX_NESTING = 10;

function aliasText(alias: Alias, binder: Binder): string | undefined {
  spend(binder, 1, alias.at);
  if (binder.expanding.size >= MAX_NESTING) {
    throw new ExpressionError(
      'limit',
      `Parameter aliases are nested more than ${MAX_NESTING} deep.`,
      alias.at,
    );
  }
  if (binder.expanding.has(alias.name)) {
    throw new ExpressionError('syntax', `The parameter alias @${alias.name} refers to itself.`, alias.at);
  }
  return binder.options.aliases?.get(alias.name);
}

/** Positions within an alias's text mean nothing in the expression, so the error is moved to where the alias stands. */
function within<T>(alias: Alias, parse: () => T): T {
  try {
    return parse();
  } catch (error) {
    if (!(error instanceof ExpressionError)) throw error;
    const message = `In the value of @${alias.name}: ${error.message}`;
    throw new ExpressionError(error.kind, message, alias.at, error.expected);
  }
}

/** The expression an alias stands for; null when it was not given. URL Conventions 4.01, section 5.3.1. */
export function aliasExpr(alias: Alias, binder: Binder): Expr | null {
  const text = aliasText(alias, binder);
  if (text === undefined) return null;
  return within(alias, () => parseExpression(text, binder.options.parse));
}

/** Binds what an alias stands for, guarding against aliases that name each other in a circle. */
export function expandAlias<T>(alias: Alias, binder: Binder, bind: (expr: Expr | null) => T): T {
  const expr = aliasExpr(alias, binder);
  binder.expanding.add(alias.name);
  try {
    return within(alias, () => bind(expr));
  } finally {
    binder.expanding.delete(alias.name);
  }
}

/** The list that an alias to the right of `in` stands for, written `["a","b"]` or `('a','b')`. */
export function aliasList(alias: Alias, binder: Binder): List {
  const text = aliasText(alias, binder);
  if (text === undefined) throw typeError(`@${alias.name} is not given.`, alias.at, 'a list');
  return within(alias, () => {
    const p = startParse(text, binder.options.parse);
    const close = accept(p, '[') ? ']' : accept(p, '(') ? ')' : null;
    if (close === null) throw typeError('This is not a list.', 0, 'a list such as ["a","b"]');
    const list = parseList(p, 0, close);
    spend(binder, list.items.length, alias.at);
    skipSpace(p);
    if (p.pos < text.length) throw typeError('Text follows the list.', p.pos, 'the end');
    return list;
  });
}
