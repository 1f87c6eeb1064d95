import type { ExpandItem, ExpandOptions, PathSegment } from './ast.ts';
import { ExpressionError } from './expression-error.ts';
import { parseCommonExpr } from './parse.ts';
import {
  listOf,
  namePath,
  orderItems,
  parseBoolean,
  parseNonNegativeInteger,
  selectItems,
  whole,
} from './parse-options.ts';
import {
  accept,
  descend,
  expectMark,
  type ParseOptions,
  type ParserState,
  syntaxError,
} from './parser-state.ts';
import { isSystemOption } from './query-options.ts';
import { readIdentifier, skipSpace } from './tokenize.ts';

type Writable<T> = { -readonly [K in keyof T]: T[K] };

/**
 * Parses `$expand` with nested options, separated by semicolons. @throws ExpressionError as parseExpression; `unsupported` for
 * `$levels`, `$search`, `$compute`, annotations and streams. URL Conventions 4.01, section 5.1.3.
 */
export function parseExpand(text: string, options: ParseOptions = {}): readonly ExpandItem[] {
  return whole(text, options, expandItems);
}

function expandItems(p: ParserState): readonly ExpandItem[] {
  return listOf(p, expandItem);
}

function expandItem(p: ParserState): ExpandItem {
  const at = p.pos;
  const star = accept(p, '*');
  const path: readonly PathSegment[] = star ? [] : namePath(p);
  if (p.text.startsWith('/*', p.pos)) {
    throw new ExpressionError('unsupported', 'A star behind a path is not supported.', p.pos);
  }
  const suffix = suffixAt(p);
  const options = p.text[p.pos] === '(' ? expandOptions(p, suffix) : {};
  return { path, star, suffix, at, options };
}

function suffixAt(p: ParserState): ExpandItem['suffix'] {
  const at = p.pos;
  if (!accept(p, '/')) return null;
  expectMark(p, '$', '$ref or $count');
  const name = readIdentifier(p);
  if (name === 'ref' || name === 'count') return name;
  if (name === 'value') throw new ExpressionError('unsupported', 'Streams cannot be expanded.', at);
  throw syntaxError(p, '$ref or $count', at);
}

function expandOptions(p: ParserState, suffix: ExpandItem['suffix']): ExpandOptions {
  descend(p);
  p.pos += 1;
  const options: Writable<ExpandOptions> = {};
  do {
    skipSpace(p);
    expandOption(p, suffix, options);
    skipSpace(p);
  } while (accept(p, ';'));
  expectMark(p, ')', "';' or ')'");
  p.depth -= 1;
  return options;
}

function expandOption(p: ParserState, suffix: ExpandItem['suffix'], options: Writable<ExpandOptions>): void {
  const at = p.pos;
  if (p.text[at] === '@') {
    throw new ExpressionError('unsupported', 'Parameter aliases within $expand are not supported.', at);
  }
  accept(p, '$');
  const name = readIdentifier(p)?.toLowerCase() ?? '';
  if (name !== 'levels' && !isSystemOption(name)) throw syntaxError(p, 'an option such as $select=', at);
  if (!allowed(name, suffix)) throw syntaxError(p, `an option that /$${suffix ?? ''} can have`, at);
  if (name in options) throw new ExpressionError('syntax', `The option $${name} is given twice.`, at);
  expectMark(p, '=');
  switch (name) {
    case 'filter':
      options.filter = parseCommonExpr(p);
      return;
    case 'orderby':
      options.orderby = orderItems(p);
      return;
    case 'select':
      options.select = selectItems(p);
      return;
    case 'expand':
      options.expand = expandItems(p);
      return;
    case 'top':
      options.top = simpleValue(p, parseNonNegativeInteger);
      return;
    case 'skip':
      options.skip = simpleValue(p, parseNonNegativeInteger);
      return;
    case 'count':
      options.count = simpleValue(p, parseBoolean);
      return;
    default:
      throw new ExpressionError('unsupported', `$${name} within $expand is not supported.`, at);
  }
}

/** `/$count` counts what `$filter` and `$search` leave; `/$ref` returns no properties that could be selected or expanded. */
function allowed(name: string, suffix: ExpandItem['suffix']): boolean {
  if (suffix === 'count') return name === 'filter' || name === 'search';
  return suffix === null || !['select', 'expand', 'levels', 'compute'].includes(name);
}

/** A value without structure, up to the next `;` or `)`. */
function simpleValue<T>(p: ParserState, parse: (text: string) => T): T {
  const at = p.pos;
  const length = p.text.slice(at).search(/[;)\s]/);
  const text = length < 0 ? p.text.slice(at) : p.text.slice(at, at + length);
  try {
    const value = parse(text);
    p.pos = at + text.length;
    return value;
  } catch (error) {
    if (!(error instanceof ExpressionError)) throw error;
    throw new ExpressionError(error.kind, error.message, at, error.expected);
  }
}
