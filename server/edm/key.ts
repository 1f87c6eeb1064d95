import type { Alias, Literal } from './ast.ts';
import { aliasExpr } from './bind-alias.ts';
import { bindLiteral, castText, fits } from './bind-literal.ts';
import { adopt } from './bind-operators.ts';
import { type Binder, type BindOptions, typeError } from './binder.ts';
import { ExpressionError } from './expression-error.ts';
import { type EntityType, isNavigation, type ScalarType } from './model.ts';
import { listOf, whole } from './parse-options.ts';
import { expectMark, type ParseOptions, type ParserState, syntaxError } from './parser-state.ts';
import { readIdentifier, readToken, skipSpace } from './tokenize.ts';
import type { TypedLiteral } from './typed.ts';

/** What stands between the parentheses behind an entity set: one value, or values by the names of key properties. */
export interface KeyPredicate {
  readonly entries: readonly { readonly name: string | null; readonly value: Literal | Alias }[];
}

/**
 * Parses the text between the parentheses of `EntityEvent(42)`, `OrderItem(OrderID=1,ItemID='a')` or `Set(@key)`, already
 * percent-decoded. @throws ExpressionError `syntax`. URL Conventions 4.01, section 4.3.1.
 */
export function parseKeyPredicate(text: string, options: ParseOptions = {}): KeyPredicate {
  const entries = whole(text, options, p => listOf(p, keyEntry));
  if (entries.length > 1 && entries.some(entry => entry.name === null)) {
    throw new ExpressionError(
      'syntax',
      'Several key values need the names of their properties.',
      0,
      'Name=value',
    );
  }
  return { entries };
}

function keyEntry(p: ParserState): KeyPredicate['entries'][number] {
  const at = p.pos;
  const name = /^[\p{L}\p{Nl}_][^\s=,'()]*[ \t]*=/u.test(p.text.slice(at, at + 300))
    ? readIdentifier(p)
    : null;
  if (name !== null) {
    skipSpace(p);
    expectMark(p, '=');
    skipSpace(p);
  }
  return { name, value: keyValue(p) };
}

function keyValue(p: ParserState): Literal | Alias {
  const at = p.pos;
  const token = readToken(p);
  if (token.kind === 'at' && !token.name.includes('.'))
    return { kind: 'alias', name: token.name, at, end: p.pos };
  if (token.kind !== 'literal') throw syntaxError(p, 'a key value', at);
  const { literal, text, enumType } = token;
  return { kind: 'literal', literal, text, ...(enumType === undefined ? {} : { enumType }), at, end: p.pos };
}

/**
 * The key values in the order of `type.key`. A value in quotes is taken for a key that is not a string too (`EntityEvent('101')`),
 * since clients quote. @throws ExpressionError when names or types do not fit the key.
 */
export function bindKey(
  key: KeyPredicate,
  type: EntityType,
  options: BindOptions = {},
): readonly TypedLiteral[] {
  if (key.entries.length !== type.key.length) {
    throw typeError(
      `The key of ${type.name} is ${type.key.join(', ')}.`,
      0,
      'a value for each part of the key',
    );
  }
  const binder: Binder = {
    it: type,
    options,
    bindIn: () => {
      throw new Error('a key holds no expression');
    },
    expanding: new Set(),
    budget: type.key.length,
  };
  return type.key.map(name => {
    const entry = key.entries.find(candidate => candidate.name === null || candidate.name === name);
    const property = type.members.get(name);
    if (entry === undefined || property === undefined || isNavigation(property)) {
      throw new ExpressionError(
        'unknown-name',
        `The key of ${type.name} is ${type.key.join(', ')}.`,
        0,
        name,
      );
    }
    return bindKeyValue(entry.value, property.type as ScalarType, binder);
  });
}

function bindKeyValue(value: Literal | Alias, type: ScalarType, binder: Binder): TypedLiteral {
  const source = value.kind === 'alias' ? aliasExpr(value, binder) : value;
  const bound = source?.kind === 'literal' ? bindLiteral(source, binder.options.model) : null;
  if (bound === null) throw typeError('A key value is not null.', value.at, `a value of ${type.name}`);
  const literal = adopt(bound, type);
  if (literal.kind !== 'literal') throw typeError('A key value is a literal.', value.at, 'a literal');
  if (literal.value.kind === 'string' && type.name !== 'Edm.String')
    return castText(literal.value.value, type, value.at);
  const fitting = type.kind === 'enum' ? literal.type.name === type.name : fits(literal, type.name);
  if (!fitting) throw typeError(`The key takes ${type.name}.`, value.at, `a value of ${type.name}`);
  return { ...literal, type };
}
