import type { BinaryOperator, Expr, In } from './ast.ts';
import { parseInRight } from './parse-list.ts';
import { parsePrimary } from './parse-primary.ts';
import {
  countNode,
  descend,
  type ParseOptions,
  type ParserState,
  startParse,
  syntaxError,
} from './parser-state.ts';
import { readToken, skipSpace } from './tokenize.ts';

type Infix = BinaryOperator | 'and' | 'or' | 'in';

/** URL Conventions 4.01, section 5.1.1.16: the higher binds tighter; `not` and minus stand between mul and has. */
const PRECEDENCE: ReadonlyMap<string, number> = new Map<Infix, number>([
  ['or', 1],
  ['and', 2],
  ['eq', 3],
  ['ne', 3],
  ['gt', 4],
  ['ge', 4],
  ['lt', 4],
  ['le', 4],
  ['add', 5],
  ['sub', 5],
  ['mul', 6],
  ['div', 6],
  ['divby', 6],
  ['mod', 6],
  ['has', 8],
  ['in', 8],
]);
const LOWEST = 1;
const ABOVE_UNARY = 8;

/**
 * Parses an OData 4.01 common expression, the language of `$filter`: linear in the text, never deeper than the limits, keeping
 * the exact text of every literal. White space may follow but, as in the standard's grammar, not lead.
 * @throws ExpressionError naming the position; kind `unsupported` for what the standard knows and this service does not.
 */
export function parseExpression(text: string, options: ParseOptions = {}): Expr {
  const p = startParse(text, options);
  const expr = parseCommonExpr(p);
  skipSpace(p);
  if (p.pos < text.length) throw unexpected(p);
  return expr;
}

/** Parses an expression at the scanner and stops behind it: for the options of `$expand` and the items of `$orderby`. */
export function parseCommonExpr(p: ParserState): Expr {
  return climb(p, LOWEST);
}

/** The error for text behind a complete expression; an operator that stands there lacks its white space or its operand. */
export function unexpected(p: ParserState): Error {
  const word = /^[A-Za-z]+/.exec(p.text.slice(p.pos, p.pos + 10))?.[0] ?? '';
  if (!PRECEDENCE.has(word.toLowerCase())) return syntaxError(p, 'an operator or the end');
  return syntaxError(p, `white space and an operand behind ${word}`, p.pos);
}

interface InfixHere {
  readonly op: Infix;
  readonly precedence: number;
  readonly at: number;
  readonly end: number;
}

/** The operator behind white space, if one stands there; the scanner is not moved. */
function peekInfix(p: ParserState): InfixHere | null {
  const { text } = p;
  let at = p.pos;
  while (text.charCodeAt(at) === 32 || text.charCodeAt(at) === 9) at += 1;
  if (at === p.pos) return null;
  let end = at;
  while (end - at < 6 && isLetter(text.charCodeAt(end))) end += 1;
  const op = text.slice(at, end).toLowerCase();
  const precedence = PRECEDENCE.get(op);
  if (precedence === undefined) return null;
  const next = text.charCodeAt(end);
  if (next !== 32 && next !== 9) return null;
  return { op: op as Infix, precedence, at, end };
}

function isLetter(code: number): boolean {
  return (code >= 97 && code <= 122) || (code >= 65 && code <= 90);
}

function consume(p: ParserState, infix: InfixHere): void {
  p.pos = infix.end;
  skipSpace(p);
}

/** Precedence climbing: operators of at least `lowest`, which are all above the unary ones when `lowest` is. */
function climb(p: ParserState, lowest: number): Expr {
  descend(p);
  let left = lowest >= ABOVE_UNARY ? parsePrimary(p, parseCommonExpr) : parseUnary(p);
  for (;;) {
    const infix = peekInfix(p);
    if (infix === null || infix.precedence < lowest) break;
    left = parseInfix(p, left, infix);
  }
  p.depth -= 1;
  return left;
}

function parseInfix(p: ParserState, left: Expr, infix: InfixHere): Expr {
  const { op, precedence } = infix;
  if (op === 'and' || op === 'or') return parseChain(p, left, op, precedence);
  const leftHeight = p.height;
  consume(p, infix);
  if (op === 'in') {
    const right = parseInRight(p);
    countNode(p, leftHeight, infix.at);
    return { kind: 'in', left, right, at: left.at, end: p.pos } satisfies In;
  }
  const right = climb(p, precedence + 1);
  countNode(p, Math.max(leftHeight, p.height), infix.at);
  return { kind: 'binary', op, opAt: infix.at, left, right, at: left.at, end: right.end };
}

/** `a and b and c` is one node, so that a thousand clauses are no deeper than two. */
function parseChain(p: ParserState, first: Expr, op: 'and' | 'or', precedence: number): Expr {
  const operands = [first];
  let height = p.height;
  for (let next = peekInfix(p); next !== null && next.op === op; next = peekInfix(p)) {
    consume(p, next);
    operands.push(climb(p, precedence + 1));
    height = Math.max(height, p.height);
  }
  countNode(p, height, first.at);
  return { kind: op, operands, at: first.at, end: p.pos };
}

/** `not x`, `-x`, or an operand with its `has` and `in`. */
function parseUnary(p: ParserState): Expr {
  const at = p.pos;
  if (isMinus(p)) {
    p.pos += 1;
    skipSpace(p);
    return unaryNode(p, 'negate', at);
  }
  if (isNot(p)) {
    p.pos += 3;
    skipSpace(p);
    return unaryNode(p, 'not', at);
  }
  return climb(p, ABOVE_UNARY);
}

function unaryNode(p: ParserState, kind: 'not' | 'negate', at: number): Expr {
  descend(p);
  const operand = parseUnary(p);
  p.depth -= 1;
  countNode(p, p.height, at);
  return { kind, operand, at, end: p.pos };
}

/** A minus that is no part of a literal such as `-5`, `-INF` or `-0001-01-01`. */
function isMinus(p: ParserState): boolean {
  if (p.text.charCodeAt(p.pos) !== 45) return false;
  const token = readToken({ text: p.text, pos: p.pos });
  return token.kind === 'mark';
}

/**
 * True for the operator `not`. A property may be named `not` too: it is one when no operand follows, or an operator follows
 * that is itself followed by an operand (`not eq 1`, but `not eq eq 1` negates the property `eq`).
 */
function isNot(p: ParserState): boolean {
  const { text, pos } = p;
  if (text.slice(pos, pos + 3).toLowerCase() !== 'not') return false;
  const ahead = { ...p, pos: pos + 3 };
  if (text[ahead.pos] === '(') return true;
  const operator = peekInfix(ahead);
  if (operator !== null) return peekInfix({ ...ahead, pos: operator.end }) !== null;
  if (!skipSpace(ahead)) return false;
  return ahead.pos < text.length && !'),;:'.includes(text.charAt(ahead.pos));
}
