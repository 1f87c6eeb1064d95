import type { Alias, List, Literal, Path, PathRoot } from './ast.ts';
import { ExpressionError } from './expression-error.ts';
import { literalNode, parsePath } from './parse-primary.ts';
import { accept, acceptComma, expectMark, type ParserState, syntaxError } from './parser-state.ts';
import { readIdentifier, readJsonString, readName, readToken, skipSpace } from './tokenize.ts';

/** The right side of `in`: a list in parentheses or brackets, a collection, an alias. */
export function parseInRight(p: ParserState): List | Path | Alias {
  const at = p.pos;
  if (accept(p, '(')) return parseParenthesisedRight(p, at);
  if (accept(p, '[')) return parseList(p, at, ']');
  const token = readToken(p);
  if (token.kind === 'at' && !token.name.includes('.'))
    return { kind: 'alias', name: token.name, at, end: p.pos };
  const path = pathAt(p, at);
  if (path === null) throw syntaxError(p, 'a list such as (1,2) or a collection', at);
  return path;
}

/** `in (Collection)` has a path in parentheses; everything else in parentheses is a list of literals. */
function parseParenthesisedRight(p: ParserState, at: number): List | Path {
  skipSpace(p);
  const path = pathAt(p, p.pos);
  skipSpace(p);
  if (path !== null && accept(p, ')')) return path;
  p.pos = at + 1;
  return parseList(p, at, ')');
}

/** A path that begins at `at`, or null with the scanner at `at`. */
function pathAt(p: ParserState, at: number): Path | null {
  p.pos = at;
  const token = readToken({ text: p.text, pos: at });
  const rooted = token.kind === 'dollar' && /^(?:it|this|root)$/.test(token.name);
  if (token.kind !== 'word' && !rooted) return null;
  const root = accept(p, '$') ? (`$${readIdentifier(p)}` as PathRoot) : undefined;
  const first = root === undefined ? (readName(p) ?? undefined) : undefined;
  const path = parsePath(p, root, first, at, () => {
    throw syntaxError(p, 'a collection', at);
  });
  if (path.kind !== 'path') throw syntaxError(p, 'a collection', at);
  return path;
}

/** The items of a list whose opening mark, at `at`, was read. */
export function parseList(p: ParserState, at: number, close: ')' | ']'): List {
  const items: (Literal | Alias)[] = [];
  skipSpace(p);
  if (!accept(p, close)) {
    do {
      if (items.length >= p.limits.maxListItems) {
        throw new ExpressionError('limit', `A list has at most ${p.limits.maxListItems} items.`, p.pos);
      }
      items.push(parseItem(p));
    } while (acceptComma(p));
    expectMark(p, close, `',' or '${close}'`);
  }
  p.height = 1;
  return { kind: 'list', items, at, end: p.pos };
}

function parseItem(p: ParserState): Literal | Alias {
  const at = p.pos;
  if (p.text[at] === '"') {
    const text = readJsonString(p);
    return { kind: 'literal', literal: 'string', text, at, end: p.pos };
  }
  const token = readToken(p);
  if (token.kind === 'literal') return literalNode(token, at, p.pos);
  if (token.kind === 'at' && !token.name.includes('.'))
    return { kind: 'alias', name: token.name, at, end: p.pos };
  throw new ExpressionError('syntax', 'A list holds literals only.', at, 'a literal');
}
