import type { Alias, Expr, List } from '../ast.ts';

/**
 * A tree as an S-expression, the form in which the cases of this folder state trees: `(and (eq a 1) (not b))`, strings in
 * double quotes as they are, literals in their source text.
 */
export function treeText(expr: Expr | List): string {
  switch (expr.kind) {
    case 'literal':
      if (expr.literal === 'string') return `"${expr.text}"`;
      if (expr.literal === 'enum') return `${expr.enumType ?? ''}'${expr.text}'`;
      if (expr.literal === 'duration' || expr.literal === 'binary') return `${expr.literal}'${expr.text}'`;
      return expr.literal === 'boolean' ? expr.text.toLowerCase() : expr.text;
    case 'path':
      return [
        ...(expr.root === undefined ? [] : [expr.root]),
        ...expr.segments.map(segment => segment.name),
      ].join('/');
    case 'alias':
      return `@${expr.name}`;
    case 'consumer':
      return `@consumer.${expr.attribute}`;
    case 'and':
    case 'or':
      return list(expr.kind, ...expr.operands.map(treeText));
    case 'not':
      return list('not', treeText(expr.operand));
    case 'negate':
      return list('neg', treeText(expr.operand));
    case 'binary':
      return list(expr.op, treeText(expr.left), treeText(expr.right));
    case 'in':
      return list('in', treeText(expr.left), treeText(expr.right));
    case 'list':
      return list('list', ...expr.items.map(treeText));
    case 'call':
      return list(expr.name, ...expr.args.map(treeText));
    case 'typeCall':
      return list(expr.name, ...(expr.operand === null ? [] : [treeText(expr.operand)]), expr.typeName);
    case 'lambda': {
      const inner = expr.variable === null || expr.body === null ? [] : [expr.variable, treeText(expr.body)];
      return `${treeText(expr.source)}/${list(expr.quantifier, ...inner)}`;
    }
    case 'count':
      return expr.filter === null
        ? `${treeText(expr.source)}/$count`
        : `${treeText(expr.source)}/${list('$count', treeText(expr.filter))}`;
    default: {
      const never: never = expr;
      return never;
    }
  }
}

function list(...parts: readonly string[]): string {
  return `(${parts.join(' ')})`;
}

const POSITIONS: ReadonlySet<string> = new Set(['at', 'end', 'opAt', 'typeAt']);

/** A tree without its positions, for comparing trees of different texts. */
export function withoutPositions(expr: Expr | List | Alias): unknown {
  return JSON.parse(JSON.stringify(expr, (key, value: unknown) => (POSITIONS.has(key) ? undefined : value)));
}
