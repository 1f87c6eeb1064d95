import type { Call, Count, Expr, Lambda, Literal, Path, PathRoot, PathSegment, TypeCall } from './ast.ts';
import { ExpressionError } from './expression-error.ts';
import { FUNCTIONS, REFUSED_FUNCTIONS } from './functions.ts';
import { accept, acceptComma, countNode, expectMark, type ParserState, syntaxError } from './parser-state.ts';
import { readIdentifier, readName, readToken, skipSpace, type Token } from './tokenize.ts';

type ParseExpr = (p: ParserState) => Expr;

/** Parses an operand: literal, parenthesis, call, path, alias. `parseExpr` is the parser of whole expressions. */
export function parsePrimary(p: ParserState, parseExpr: ParseExpr): Expr {
  const at = p.pos;
  const token = readToken(p);
  switch (token.kind) {
    case 'literal':
      countNode(p, 0, at);
      return literalNode(token, at, p.pos);
    case 'word':
      return p.text[p.pos] === '('
        ? parseCall(p, token.text, at, parseExpr)
        : parsePath(p, undefined, token.text, at, parseExpr);
    case 'at':
      return parseSigil(p, token.name, at);
    case 'dollar':
      return parseRooted(p, token.name, at, parseExpr);
    case 'end':
      throw syntaxError(p, 'an operand', at);
    case 'mark':
      return parseMark(p, token.text, at, parseExpr);
    default: {
      const never: never = token;
      return never;
    }
  }
}

/** The node of a literal's token. */
export function literalNode(token: Token & { readonly kind: 'literal' }, at: number, end: number): Literal {
  return token.enumType === undefined
    ? { kind: 'literal', literal: token.literal, text: token.text, at, end }
    : { kind: 'literal', literal: token.literal, text: token.text, enumType: token.enumType, at, end };
}

function parseMark(p: ParserState, mark: string, at: number, parseExpr: ParseExpr): Expr {
  if (mark === '(') {
    skipSpace(p);
    const inner = parseExpr(p);
    skipSpace(p);
    expectMark(p, ')', "an operator or ')'");
    p.height += 1;
    return inner;
  }
  if (mark === '{') throw new ExpressionError('unsupported', 'Structured values are not supported.', at);
  if (mark === '[')
    throw new ExpressionError('unsupported', 'A list is supported only to the right of in.', at);
  throw syntaxError(p, 'an operand', at);
}

/** `@alias`, or `@consumer.Attribute` where it is allowed; every other qualified name is an annotation. */
function parseSigil(p: ParserState, name: string, at: number): Expr {
  countNode(p, 0, at);
  if (!name.includes('.')) {
    if (p.text[p.pos] === '/')
      throw new ExpressionError('unsupported', 'Paths from an alias are not supported.', p.pos);
    return { kind: 'alias', name, at, end: p.pos };
  }
  const [first, attribute, ...rest] = name.split('.');
  if (p.consumerAttributes && first === 'consumer' && attribute !== undefined && rest.length === 0) {
    return { kind: 'consumer', attribute, at, end: p.pos };
  }
  throw new ExpressionError('unsupported', 'Annotations are not supported in expressions.', at);
}

function parseRooted(p: ParserState, name: string, at: number, parseExpr: ParseExpr): Expr {
  if (name !== 'it' && name !== 'this' && name !== 'root') throw syntaxError(p, '$it, $this or $root', at);
  return parsePath(p, `$${name}`, undefined, at, parseExpr);
}

/** A path with what may end it: `/$count`, `/any(...)`, `/all(...)`. */
export function parsePath(
  p: ParserState,
  root: PathRoot | undefined,
  first: string | undefined,
  at: number,
  parseExpr: ParseExpr,
): Path | Lambda | Count {
  const segments: PathSegment[] = first === undefined ? [] : [{ name: first, at }];
  while (p.text[p.pos] === '/') {
    const slash = p.pos;
    p.pos += 1;
    const segmentAt = p.pos;
    if (accept(p, '$')) return parseDollarStep(p, pathNode(root, segments, at, slash), segmentAt, parseExpr);
    if (p.text[p.pos] === '@') {
      throw new ExpressionError('unsupported', 'Annotations are not supported in expressions.', segmentAt);
    }
    const name = readName(p);
    if (name === null) throw syntaxError(p, 'a name');
    if (p.text[p.pos] === '(') {
      return parseStepCall(p, name, pathNode(root, segments, at, slash), segmentAt, parseExpr);
    }
    segments.push({ name, at: segmentAt });
    if (segments.length > p.limits.maxDepth) descendPath(p, segmentAt);
  }
  countNode(p, 0, at);
  return pathNode(root, segments, at, p.pos);
}

function descendPath(p: ParserState, at: number): never {
  throw new ExpressionError('limit', `A path has at most ${p.limits.maxDepth} steps.`, at);
}

function pathNode(
  root: PathRoot | undefined,
  segments: readonly PathSegment[],
  at: number,
  end: number,
): Path {
  return root === undefined ? { kind: 'path', segments, at, end } : { kind: 'path', root, segments, at, end };
}

function parseDollarStep(p: ParserState, source: Path, at: number, parseExpr: ParseExpr): Count {
  const name = readIdentifier(p);
  if (name !== 'count') {
    if (name === 'filter' || name === 'ref' || name === 'value') {
      throw new ExpressionError('unsupported', `The path step $${name} is not supported in expressions.`, at);
    }
    throw syntaxError(p, '$count', at);
  }
  let filter: Expr | null = null;
  let below = 0;
  if (accept(p, '(')) {
    filter = parseCountOptions(p, parseExpr);
    below = p.height;
  }
  countNode(p, below, at);
  return { kind: 'count', source, filter, at: source.at, end: p.pos };
}

function parseCountOptions(p: ParserState, parseExpr: ParseExpr): Expr {
  const at = p.pos;
  accept(p, '$');
  const name = readIdentifier(p)?.toLowerCase();
  if (name === 'search') throw new ExpressionError('unsupported', '$search is not supported.', at);
  if (name !== 'filter') throw syntaxError(p, '$filter=', at);
  expectMark(p, '=');
  const filter = parseExpr(p);
  skipSpace(p);
  if (p.text[p.pos] === ';')
    throw new ExpressionError('unsupported', 'Only $filter is supported here.', p.pos);
  expectMark(p, ')');
  return filter;
}

/** `/any(...)` and `/all(...)`; a property may be named any or all, but is never followed by a parenthesis. */
function parseStepCall(p: ParserState, name: string, source: Path, at: number, parseExpr: ParseExpr): Lambda {
  const quantifier = name.toLowerCase();
  if (quantifier !== 'any' && quantifier !== 'all') {
    const message = 'Functions, casts and keys within a path are not supported.';
    throw new ExpressionError('unsupported', message, at);
  }
  p.pos += 1;
  skipSpace(p);
  if (quantifier === 'any' && accept(p, ')')) {
    countNode(p, 0, at);
    return { kind: 'lambda', quantifier, source, variable: null, body: null, at: source.at, end: p.pos };
  }
  const variable = readIdentifier(p);
  if (variable === null) throw syntaxError(p, 'a range variable');
  skipSpace(p);
  expectMark(p, ':');
  skipSpace(p);
  const body = parseExpr(p);
  skipSpace(p);
  expectMark(p, ')', "an operator or ')'");
  countNode(p, p.height, at);
  if (p.text[p.pos] === '/') throw syntaxError(p, 'an operator or the end');
  return { kind: 'lambda', quantifier, source, variable, body, at: source.at, end: p.pos };
}

function parseCall(p: ParserState, written: string, at: number, parseExpr: ParseExpr): Call | TypeCall {
  const name = written.toLowerCase();
  if (name === 'cast' || name === 'isof') return parseTypeCall(p, name, at, parseExpr);
  const refused = REFUSED_FUNCTIONS.get(name);
  if (refused !== undefined) throw new ExpressionError('unsupported', refused, at);
  if (name === 'any' || name === 'all') {
    throw new ExpressionError(
      name === 'any' ? 'unsupported' : 'syntax',
      `${name} needs a collection before it.`,
      at,
    );
  }
  const shape = FUNCTIONS.get(name);
  if (shape === undefined)
    throw new ExpressionError('unknown-name', `There is no function ${written}.`, at, 'a function');
  const args = parseArguments(p, parseExpr);
  const most = shape.parameters.length;
  const least = most - shape.optional;
  if (args.length < least || args.length > most) {
    const count = least === most ? `${most}` : `${least} or ${most}`;
    const expected = `${count} argument${count === '1' ? '' : 's'}`;
    throw new ExpressionError('type', `${name} takes ${expected}, not ${args.length}.`, at, expected);
  }
  return { kind: 'call', name, args, at, end: p.pos };
}

function parseArguments(p: ParserState, parseExpr: ParseExpr): readonly Expr[] {
  const at = p.pos;
  const args: Expr[] = [];
  let height = 0;
  p.pos += 1;
  skipSpace(p);
  if (!accept(p, ')')) {
    do {
      args.push(parseExpr(p));
      height = Math.max(height, p.height);
    } while (acceptComma(p));
    expectMark(p, ')', "',' or ')'");
  }
  countNode(p, height, at);
  return args;
}

/** `cast(x,Edm.Int64)`, `isof(Ns.Type)`: the last argument is the name of a type. */
function parseTypeCall(p: ParserState, name: 'cast' | 'isof', at: number, parseExpr: ParseExpr): TypeCall {
  p.pos += 1;
  skipSpace(p);
  const alone = tryTypeName(p);
  if (alone !== null) {
    countNode(p, 0, at);
    return { kind: 'typeCall', name, operand: null, typeName: alone.name, typeAt: alone.at, at, end: p.pos };
  }
  const operand = parseExpr(p);
  if (!acceptComma(p)) throw syntaxError(p, 'a comma and the name of a type');
  const type = tryTypeName(p);
  if (type === null) throw syntaxError(p, 'the name of a type');
  countNode(p, p.height, at);
  return { kind: 'typeCall', name, operand, typeName: type.name, typeAt: type.at, at, end: p.pos };
}

/** Reads a type name that ends the call, with the parenthesis; otherwise the scanner stays. */
function tryTypeName(p: ParserState): { readonly name: string; readonly at: number } | null {
  const at = p.pos;
  const name = readName(p);
  const end = p.pos;
  skipSpace(p);
  if (name !== null && accept(p, ')')) return { name: p.text.slice(at, end), at };
  p.pos = at;
  return null;
}
