import assert from 'node:assert/strict';
import fc from 'fast-check';
import { filter as parseElsewhere } from 'odata-v4-parser';
import { treeText } from './cases/tree-text.ts';
import { parseExpression } from './parse.ts';

/**
 * `odata-v4-parser` reads the filters below soundly: names that begin with no literal, plain literals, arithmetic without
 * chains, and/or with parentheses, `not` of a parenthesis that nothing follows. Outside of this it is known to be wrong (see
 * the ADR on the filter parser), so there it is no witness.
 */
const RUNS = Number(process.env.PULSEFEED_TORTURE_PARSER_RUNS ?? 10_000) / 10;

interface Token {
  readonly type: string;
  readonly raw: string;
  readonly value: unknown;
}

function isToken(value: unknown): value is Token {
  return (
    typeof value === 'object' &&
    value !== null &&
    'type' in value &&
    'raw' in value &&
    typeof value.raw === 'string'
  );
}

function child(token: Token, name: string): Token {
  const { value } = token;
  const found: unknown = typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined;
  if (!isToken(found)) throw new Error(`${token.type} without ${name}`);
  return found;
}

const OPERATORS: Readonly<Record<string, string>> = {
  AddExpression: 'add',
  DivExpression: 'div',
  EqualsExpression: 'eq',
  GreaterOrEqualsExpression: 'ge',
  GreaterThanExpression: 'gt',
  LesserOrEqualsExpression: 'le',
  LesserThanExpression: 'lt',
  ModExpression: 'mod',
  MulExpression: 'mul',
  NotEqualsExpression: 'ne',
  SubExpression: 'sub',
};

/** The other parser's tree in the form of ours: its chains of one operator are nested to the right. */
function elsewhere(token: Token): string {
  const operator = OPERATORS[token.type];
  if (operator !== undefined)
    return `(${operator} ${elsewhere(child(token, 'left'))} ${elsewhere(child(token, 'right'))})`;
  switch (token.type) {
    case 'AndExpression':
    case 'OrExpression':
      return `(${token.type === 'AndExpression' ? 'and' : 'or'} ${operands(token, token.type).join(' ')})`;
    case 'NotExpression':
      return `(not ${inner(token)})`;
    case 'BoolParenExpression':
    case 'ParenExpression':
    case 'CommonExpression':
      return inner(token);
    case 'MethodCallExpression': {
      const { value } = token;
      const parameters: unknown =
        typeof value === 'object' && value !== null ? Reflect.get(value, 'parameters') : [];
      const name = token.raw.slice(0, token.raw.indexOf('('));
      return `(${[name, ...(Array.isArray(parameters) ? parameters.filter(isToken).map(elsewhere) : [])].join(' ')})`;
    }
    case 'Literal':
      return token.raw.startsWith("'") ? `"${token.raw.slice(1, -1).replaceAll("''", "'")}"` : token.raw;
    case 'FirstMemberExpression':
      return token.raw;
    default:
      throw new Error(`unknown token ${token.type}`);
  }
}

function inner(token: Token): string {
  if (!isToken(token.value)) throw new Error(`${token.type} without content`);
  return elsewhere(token.value);
}

function operands(token: Token, type: string): readonly string[] {
  return [child(token, 'left'), child(token, 'right')].flatMap(side =>
    side.type === type ? operands(side, type) : [elsewhere(side)],
  );
}

const name = fc.constantFrom('Key', 'City', 'Price', 'Office/Name', 'b_1', 'X2');
const literal = fc.constantFrom(
  '1',
  '-5',
  '2.5',
  "'a'",
  "'it''s'",
  "''",
  "'a b(c) and d'",
  'true',
  'null',
  '2024-01-01',
  '9007199254740993',
);
const call = fc.oneof(
  fc
    .tuple(fc.constantFrom('contains', 'startswith', 'endswith'), name, fc.constantFrom("'x'", "'a,b'"))
    .map(([f, a, b]) => `${f}(${a},${b})`),
);
const term = fc.oneof(
  name,
  fc.tuple(fc.constantFrom('length', 'tolower', 'trim', 'year', 'round'), name).map(([f, a]) => `${f}(${a})`),
  fc
    .tuple(name, fc.constantFrom('add', 'sub', 'mul', 'div', 'mod'), fc.constantFrom('1', '2'))
    .map(parts => parts.join(' ')),
  fc.tuple(name, name, name).map(([a, b, c]) => `${a} add ${b} mul ${c}`),
);
const comparison = fc.oneof(
  call,
  fc
    .tuple(term, fc.constantFrom('eq', 'ne', 'gt', 'ge', 'lt', 'le'), fc.oneof(literal, name))
    .map(parts => parts.join(' ')),
);
const { soundFilter } = fc.letrec<{ soundFilter: string }>(tie => ({
  soundFilter: fc.oneof(
    { depthSize: 'medium' },
    comparison,
    fc.array(comparison, { minLength: 2, maxLength: 5 }).map(parts => parts.join(' and ')),
    fc.array(comparison, { minLength: 2, maxLength: 5 }).map(parts => parts.join(' or ')),
    fc
      .tuple(comparison, comparison, comparison, comparison)
      .map(([a, b, c, d]) => `${a} and ${b} or ${c} and ${d}`),
    fc.tuple(comparison, comparison, comparison).map(([a, b, c]) => `${a} or ${b} and ${c}`),
    tie('soundFilter').map(inside => `not (${inside})`),
    fc
      .tuple(fc.constantFrom('and', 'or'), tie('soundFilter'), tie('soundFilter'))
      .map(([op, a, b]) => `(${a}) ${op} (${b})`),
    fc
      .tuple(fc.constantFrom('and', 'or'), comparison, tie('soundFilter'))
      .map(([op, a, b]) => `${a} ${op} (${b})`),
    fc
      .tuple(fc.constantFrom('and', 'or'), comparison, tie('soundFilter'))
      .map(([op, a, b]) => `${a} ${op} not (${b})`),
  ),
}));

describe('a second opinion', () => {
  it('agrees on the tree of generated filters, where the other parser is sound', function () {
    this.timeout(20_000 + RUNS * 20);
    fc.assert(
      fc.property(soundFilter, text => {
        const other: unknown = parseElsewhere(text);
        assert.ok(isToken(other), text);
        assert.equal(treeText(parseExpression(text)), elsewhere(other), text);
      }),
      { numRuns: RUNS },
    );
  });
});
