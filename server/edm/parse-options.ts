import type { OrderItem, PathSegment, SelectItem } from './ast.ts';
import { ExpressionError } from './expression-error.ts';
import { parseCommonExpr } from './parse.ts';
import {
  accept,
  acceptComma,
  type ParseOptions,
  type ParserState,
  startParse,
  syntaxError,
} from './parser-state.ts';
import { readIdentifier, readName, skipSpace } from './tokenize.ts';

/** Parses `$orderby`. @throws ExpressionError as parseExpression. URL Conventions 4.01, section 5.1.4. */
export function parseOrderBy(text: string, options: ParseOptions = {}): readonly OrderItem[] {
  return whole(text, options, orderItems);
}

/** Parses `$select`: `*` or paths of properties. @throws ExpressionError `unsupported` for nested options and annotations. */
export function parseSelect(text: string, options: ParseOptions = {}): readonly SelectItem[] {
  return whole(text, options, selectItems);
}

/** Parses `true` or `false`, in any case, the value of `$count`. @throws ExpressionError `syntax`. */
export function parseBoolean(text: string): boolean {
  if (/^true$/i.test(text)) return true;
  if (/^false$/i.test(text)) return false;
  throw new ExpressionError(
    'syntax',
    `Expected true or false but found '${text.slice(0, 20)}'.`,
    0,
    'true or false',
  );
}

/**
 * Parses the digits of `$top`, `$skip` and `$index`. A number beyond what JavaScript counts exactly becomes the greatest it
 * does, which no collection reaches. @throws ExpressionError `syntax` for signs, fractions, exponents and spaces.
 */
export function parseNonNegativeInteger(text: string): number {
  if (!/^\d+$/.test(text)) {
    const found = text === '' ? 'nothing' : `'${text.slice(0, 20)}'`;
    throw new ExpressionError(
      'syntax',
      `Expected a number of 0 or more but found ${found}.`,
      0,
      'a number of 0 or more',
    );
  }
  return Math.min(Number(text), Number.MAX_SAFE_INTEGER);
}

/** Runs a parser of lists on a whole text, with white space allowed on both sides. */
export function whole<T>(text: string, options: ParseOptions, parse: (p: ParserState) => T): T {
  const p = startParse(text, options);
  skipSpace(p);
  const result = parse(p);
  skipSpace(p);
  if (p.pos < text.length) throw syntaxError(p, 'a comma or the end');
  return result;
}

/** Reads items separated by commas. @throws ExpressionError `limit` when there are too many. */
export function listOf<T>(p: ParserState, item: (p: ParserState) => T): readonly T[] {
  const items: T[] = [];
  do {
    if (items.length >= p.limits.maxListItems) {
      throw new ExpressionError('limit', `A list has at most ${p.limits.maxListItems} items.`, p.pos);
    }
    items.push(item(p));
  } while (acceptComma(p));
  return items;
}

/** The items of `$orderby` at the scanner. */
export function orderItems(p: ParserState): readonly OrderItem[] {
  return listOf(p, orderItem);
}

function orderItem(p: ParserState): OrderItem {
  const expr = parseCommonExpr(p);
  if (!skipSpace(p)) return { expr, descending: false };
  const at = p.pos;
  const direction = readIdentifier(p)?.toLowerCase();
  if (direction === undefined) return { expr, descending: false };
  if (direction === 'asc' || direction === 'desc') return { expr, descending: direction === 'desc' };
  throw syntaxError(p, 'an operator, asc or desc', at);
}

/** The items of `$select` at the scanner. */
export function selectItems(p: ParserState): readonly SelectItem[] {
  return listOf(p, selectItem);
}

function selectItem(p: ParserState): SelectItem {
  const at = p.pos;
  if (accept(p, '*')) return { path: [], star: true, at };
  const path = namePath(p);
  if (p.text[p.pos] === '(')
    throw new ExpressionError('unsupported', 'Options within $select are not supported.', p.pos);
  return { path, star: false, at };
}

/** A path of names; a `*` or `$` step is left for the caller, the scanner on the slash before it. */
export function namePath(p: ParserState): readonly PathSegment[] {
  const path: PathSegment[] = [];
  do {
    const at = p.pos;
    if (p.text[at] === '@')
      throw new ExpressionError('unsupported', 'Annotations cannot be selected or expanded.', at);
    const name = nameOrWildcard(p);
    path.push({ name, at });
    if (path.length > p.limits.maxDepth) {
      throw new ExpressionError('limit', `A path has at most ${p.limits.maxDepth} steps.`, at);
    }
  } while (!/^\/[*$]/.test(p.text.slice(p.pos, p.pos + 2)) && accept(p, '/'));
  return path;
}

function nameOrWildcard(p: ParserState): string {
  const at = p.pos;
  if (/^[^,;()/]*\.\*/.test(p.text.slice(at, at + 300))) {
    throw new ExpressionError('unsupported', 'Actions and functions cannot be selected.', at);
  }
  const name = readName(p);
  if (name === null) throw syntaxError(p, 'a name');
  return name;
}
