import type { Alias, Expr, List, Literal, OrderItem, Path } from './ast.ts';

const OPERATOR_LEVEL: Readonly<Record<string, number>> = {
  eq: 3,
  ne: 3,
  gt: 4,
  ge: 4,
  lt: 4,
  le: 4,
  add: 5,
  sub: 5,
  mul: 6,
  div: 6,
  divby: 6,
  mod: 6,
  has: 8,
};
const UNARY = 7;
const PRIMARY = 9;
const OPERATOR_WORD = /^(?:or|and|eq|ne|gt|ge|lt|le|add|sub|mul|div|divby|mod|has|in|not)$/i;

function level(expr: Expr): number {
  switch (expr.kind) {
    case 'or':
      return 1;
    case 'and':
      return 2;
    case 'binary':
      return OPERATOR_LEVEL[expr.op] ?? 0;
    case 'not':
    case 'negate':
      return UNARY;
    case 'in':
      return 8;
    default:
      return PRIMARY;
  }
}

/** The canonical text of a tree: parsed again it gives the same tree, positions aside. */
export function printExpression(expr: Expr): string {
  switch (expr.kind) {
    case 'literal':
      return printLiteral(expr);
    case 'path':
      return printPath(expr);
    case 'alias':
      return `@${expr.name}`;
    case 'consumer':
      return `@consumer.${expr.attribute}`;
    case 'and':
    case 'or':
      return expr.operands.map(operand => wrapped(operand, level(expr) + 1)).join(` ${expr.kind} `);
    case 'not':
      return `not ${isOperatorWord(expr.operand) ? parenthesised(expr.operand) : wrapped(expr.operand, UNARY)}`;
    case 'negate':
      return `-${isTightAfterMinus(expr.operand) ? wrapped(expr.operand, UNARY + 1) : parenthesised(expr.operand)}`;
    case 'binary':
      return `${wrapped(expr.left, level(expr))} ${expr.op} ${wrapped(expr.right, level(expr) + 1)}`;
    case 'in':
      return `${wrapped(expr.left, 8)} in ${printRight(expr.right)}`;
    case 'call':
      return `${expr.name}(${expr.args.map(printExpression).join(',')})`;
    case 'typeCall':
      return `${expr.name}(${expr.operand === null ? '' : `${printExpression(expr.operand)},`}${expr.typeName})`;
    case 'lambda':
      return `${printPath(expr.source)}/${expr.quantifier}(${
        expr.variable === null || expr.body === null ? '' : `${expr.variable}:${printExpression(expr.body)}`
      })`;
    case 'count':
      return `${printPath(expr.source)}/$count${
        expr.filter === null ? '' : `($filter=${printExpression(expr.filter)})`
      }`;
    default: {
      const never: never = expr;
      return never;
    }
  }
}

/** The canonical text of an `$orderby` list. */
export function printOrderBy(items: readonly OrderItem[]): string {
  return items.map(item => `${printExpression(item.expr)}${item.descending ? ' desc' : ''}`).join(',');
}

/** A string as a literal. */
export function quoteString(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}

function parenthesised(expr: Expr): string {
  return `(${printExpression(expr)})`;
}

function wrapped(expr: Expr, lowest: number): string {
  return level(expr) < lowest ? parenthesised(expr) : printExpression(expr);
}

/** `not in` could be read as a property named not. */
function isOperatorWord(expr: Expr): boolean {
  const path = leftmost(expr);
  return path.kind === 'path' && OPERATOR_WORD.test(path.segments[0]?.name ?? '');
}

function leftmost(expr: Expr): Expr {
  let inner = expr;
  while (inner.kind === 'in' || (inner.kind === 'binary' && inner.op === 'has')) inner = inner.left;
  return inner;
}

/** A literal after a minus could become part of it, as 5 would in -5; a word INF could become -INF. */
function isTightAfterMinus(expr: Expr): boolean {
  const inner = leftmost(expr);
  return inner.kind === 'path' || inner.kind === 'call' || inner.kind === 'alias';
}

function printLiteral(expr: Literal): string {
  switch (expr.literal) {
    case 'string':
      return quoteString(expr.text);
    case 'duration':
    case 'binary':
      return `${expr.literal}${quoteString(expr.text)}`;
    case 'enum':
      return `${expr.enumType ?? ''}${quoteString(expr.text)}`;
    default:
      return expr.text;
  }
}

function printPath(path: Path): string {
  const names = path.segments.map(segment => segment.name);
  return (path.root === undefined ? names : [path.root, ...names]).join('/');
}

function printRight(right: List | Path | Alias): string {
  if (right.kind === 'path') return printPath(right);
  if (right.kind === 'alias') return `@${right.name}`;
  return `(${right.items.map(item => (item.kind === 'alias' ? `@${item.name}` : printLiteral(item))).join(',')})`;
}
