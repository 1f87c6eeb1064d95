import { ExpressionError } from './expression-error.ts';
import { DEFAULT_LIMITS, type ExpressionLimits } from './limits.ts';
import { type Scanner, skipSpace } from './tokenize.ts';

/** How to parse. `consumerAttributes` allows `@consumer.X`, for visibility rules and nowhere else. */
export interface ParseOptions {
  readonly limits?: Partial<ExpressionLimits>;
  readonly consumerAttributes?: boolean;
}

/** A running parse. `height` is that of the subtree parsed last; `depth` counts the nesting on the way down. */
export interface ParserState extends Scanner {
  readonly limits: ExpressionLimits;
  readonly consumerAttributes: boolean;
  depth: number;
  height: number;
  nodes: number;
}

/** Starts a parse. @throws ExpressionError `limit` when the text is too long. */
export function startParse(text: string, options: ParseOptions = {}): ParserState {
  const limits = options.limits === undefined ? DEFAULT_LIMITS : { ...DEFAULT_LIMITS, ...options.limits };
  if (text.length > limits.maxLength) {
    const message = `The expression has ${text.length} characters; at most ${limits.maxLength} are allowed.`;
    throw new ExpressionError('limit', message, limits.maxLength);
  }
  const consumerAttributes = options.consumerAttributes ?? false;
  return { text, pos: 0, limits, consumerAttributes, depth: 0, height: 0, nodes: 0 };
}

/** A syntax error at the scanner, or at `at`, that shows what stands there. */
export function syntaxError(p: Scanner, expected: string, at = p.pos): ExpressionError {
  const found = p.text.slice(at, at + 20);
  const what = found === '' ? 'the end' : `'${found}${at + 20 < p.text.length ? '...' : ''}'`;
  return new ExpressionError('syntax', `Expected ${expected} but found ${what}.`, at, expected);
}

/** Counts a node whose highest subtree is `below` high. @throws ExpressionError `limit`. */
export function countNode(p: ParserState, below: number, at: number): void {
  p.nodes += 1;
  p.height = below + 1;
  if (p.nodes > p.limits.maxNodes) {
    throw new ExpressionError('limit', `The expression has more than ${p.limits.maxNodes} parts.`, at);
  }
  if (p.height > p.limits.maxDepth) throw tooDeep(p, at);
}

/** Goes one level down; the caller lowers `depth` again. @throws ExpressionError `limit`. */
export function descend(p: ParserState): void {
  p.depth += 1;
  if (p.depth > p.limits.maxDepth) throw tooDeep(p, p.pos);
}

function tooDeep(p: ParserState, at: number): ExpressionError {
  return new ExpressionError(
    'limit',
    `The expression is nested more than ${p.limits.maxDepth} levels deep.`,
    at,
  );
}

/** True and moved on when the character `mark` stands at the scanner. */
export function accept(p: Scanner, mark: string): boolean {
  if (p.text[p.pos] !== mark) return false;
  p.pos += 1;
  return true;
}

/** Moves over `mark`. @throws ExpressionError when something else stands there. */
export function expectMark(p: Scanner, mark: string, instead = `'${mark}'`): void {
  if (!accept(p, mark)) throw syntaxError(p, instead);
}

/** White space, a comma, white space; false when there is no comma, the scanner then stands behind the white space. */
export function acceptComma(p: Scanner): boolean {
  skipSpace(p);
  if (!accept(p, ',')) return false;
  skipSpace(p);
  return true;
}
