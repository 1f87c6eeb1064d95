import fc from 'fast-check';
import type { BinaryOperator, Expr, Literal, LiteralClass, Path } from '../ast.ts';
import { FUNCTIONS } from '../functions.ts';

const AT = { at: 0, end: 0 } as const;

/** Names that are also words of the language, bar `not`, after which a word is read as an operator where it can be one. */
const NAMES = [
  'a',
  'b',
  'Name',
  'nullable',
  'INFO',
  'and',
  'or',
  'in',
  'eq',
  'any',
  'contains',
  '_x',
  'État',
  'notX',
  'duration',
];

const LITERALS: readonly (readonly [LiteralClass, string])[] = [
  ['null', 'null'],
  ['boolean', 'true'],
  ['boolean', 'false'],
  ['number', '0'],
  ['number', '-1'],
  ['number', '9223372036854775808'],
  ['number', '1.50'],
  ['number', '1E-10'],
  ['number', 'INF'],
  ['number', '-INF'],
  ['number', 'NaN'],
  ['date', '2024-02-29'],
  ['timeOfDay', '12:30:00.5'],
  ['dateTimeOffset', '2024-01-01T00:00:00+02:00'],
  ['dateTimeOffset', '2024-01-01T00:00Z'],
  ['duration', '-P1DT2.5S'],
  ['guid', '01234567-89ab-cdef-0123-456789abcdef'],
  ['binary', 'AQID'],
  ['string', ''],
  ['string', "it's"],
  ['string', "' or 1 eq 1"],
  ['string', 'a b(c)'],
  ['string', '\u{1F600}'],
];

function literal(): fc.Arbitrary<Literal> {
  const plain = fc
    .constantFrom(...LITERALS)
    .map(([kind, text]): Literal => ({ kind: 'literal', literal: kind, text, ...AT }));
  const enumeration: Literal = { kind: 'literal', literal: 'enum', text: 'A,B', enumType: 'Ns.T', ...AT };
  return fc.oneof({ weight: 9, arbitrary: plain }, { weight: 1, arbitrary: fc.constant(enumeration) });
}

function path(): fc.Arbitrary<Path> {
  const root = fc.constantFrom(undefined, undefined, undefined, '$it' as const, '$this' as const);
  return fc
    .tuple(root, fc.array(fc.constantFrom(...NAMES), { minLength: 1, maxLength: 3 }))
    .map(([from, names]): Path => {
      const segments = names.map(name => ({ name, at: 0 }));
      return from === undefined
        ? { kind: 'path', segments, ...AT }
        : { kind: 'path', root: from, segments, ...AT };
    });
}

const OPERATORS: readonly BinaryOperator[] = [
  'eq',
  'ne',
  'gt',
  'ge',
  'lt',
  'le',
  'add',
  'sub',
  'mul',
  'div',
  'divby',
  'mod',
  'has',
];

function call(args: fc.Arbitrary<Expr>): fc.Arbitrary<Expr> {
  return fc.constantFrom(...FUNCTIONS.values()).chain(shape => {
    const most = shape.parameters.length;
    return fc
      .array(args, { minLength: most - shape.optional, maxLength: most })
      .map((chosen): Expr => ({ kind: 'call', name: shape.name, args: chosen, ...AT }));
  });
}

/** Random syntax trees, well formed but of any types. Positions are 0. */
export function randomTree(): fc.Arbitrary<Expr> {
  const { expr } = fc.letrec<{ expr: Expr }>(tie => ({
    expr: fc.oneof(
      { depthSize: 'small', withCrossShrink: true },
      literal(),
      path(),
      fc.constantFrom('p', 'q').map((name): Expr => ({ kind: 'alias', name, ...AT })),
      fc
        .record({ op: fc.constantFrom(...OPERATORS), left: tie('expr'), right: tie('expr') })
        .map((parts): Expr => ({ kind: 'binary', opAt: 0, ...parts, ...AT })),
      fc
        .record({
          kind: fc.constantFrom('and' as const, 'or' as const),
          operands: fc.array(tie('expr'), { minLength: 2, maxLength: 4 }),
        })
        .map((parts): Expr => ({ ...parts, ...AT })),
      fc
        .record({ kind: fc.constantFrom('not' as const, 'negate' as const), operand: tie('expr') })
        .map((parts): Expr => ({ ...parts, ...AT })),
      fc
        .record({ left: tie('expr'), items: fc.array(literal(), { maxLength: 3 }) })
        .map(({ left, items }): Expr => ({ kind: 'in', left, right: { kind: 'list', items, ...AT }, ...AT })),
      fc.record({ left: tie('expr'), right: path() }).map((parts): Expr => ({ kind: 'in', ...parts, ...AT })),
      call(tie('expr')),
      fc
        .record({ name: fc.constantFrom('cast' as const, 'isof' as const), operand: tie('expr') })
        .map((parts): Expr => ({ kind: 'typeCall', typeName: 'Edm.Int64', typeAt: 0, ...parts, ...AT })),
      fc
        .record({
          quantifier: fc.constantFrom('any' as const, 'all' as const),
          source: path(),
          body: tie('expr'),
        })
        .map((parts): Expr => ({ kind: 'lambda', variable: 'v', ...parts, ...AT })),
      path().map(
        (source): Expr => ({ kind: 'lambda', quantifier: 'any', source, variable: null, body: null, ...AT }),
      ),
      fc
        .record({ source: path(), filter: fc.option(tie('expr')) })
        .map((parts): Expr => ({ kind: 'count', ...parts, ...AT })),
    ),
  }));
  return expr;
}
