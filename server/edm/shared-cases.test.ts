import assert from 'node:assert/strict';
import type { LiteralClass } from './ast.ts';
import { type AbnfCase, homeOf, sharedCases } from './cases/abnf-cases.ts';
import { treeText } from './cases/tree-text.ts';
import { ExpressionError } from './expression-error.ts';
import { parseExpression } from './parse.ts';
import { parseExpand } from './parse-expand.ts';
import { parseBoolean, parseNonNegativeInteger, parseOrderBy, parseSelect } from './parse-options.ts';
import { decodeOnce, readQueryOptions, type SystemOption } from './query-options.ts';
import { readIdentifier } from './tokenize.ts';

interface FilterCase {
  readonly input: string;
  readonly expect: 'ok' | 'err' | 'any';
  readonly trees?: readonly string[];
}

/** Constructs of the grammar that are outside of what this service serves, with the reason; nothing else may be refused. */
const REFUSED: readonly (readonly [RegExp, string])[] = [
  [/Structured values are not supported/, 'no parameter or property takes an object written in a URL'],
  [/A list is supported only to the right of in/, 'collections are compared with any and all'],
  [/Functions on collections are not supported/, 'collections are compared with any and all'],
  [/Regular expressions are not supported/, 'one pattern can take unbounded time in the database'],
  [/Geo (?:functions|literals) are not supported/, 'the model has no geo types'],
  [
    /Annotations (?:are not supported in expressions|cannot be selected)/,
    'records carry no annotations with values',
  ],
  [/Paths from an alias are not supported/, 'aliases stand for values'],
  [/There is no function /, 'the model defines no functions'],
  [/Functions, casts and keys within a path/, 'the model defines no functions and no derived types'],
  [/The path step \$filter is not supported/, 'any, all and $count($filter=) say the same'],
  [/any needs a collection before it/, 'entities are not filtered as collections of themselves'],
  [
    /\$(?:levels|search|compute) within \$expand/,
    'recursion, full text and computed properties are not served',
  ],
  [/A star behind a path/, 'complex values hold no relations'],
  [/Options within \$select/, 'complex values are returned whole'],
  [/Actions and functions cannot be selected/, 'the model defines none'],
  [/\$(?:search|compute) is not served/, 'full text and computed properties are not served'],
  [/is given twice/, 'the grammar lets options repeat, section 5 of the URL conventions forbids it'],
];

function parseOption(name: SystemOption, value: string): void {
  switch (name) {
    case 'filter':
      parseExpression(value);
      return;
    case 'orderby':
      parseOrderBy(value);
      return;
    case 'select':
      parseSelect(value);
      return;
    case 'expand':
      parseExpand(value);
      return;
    case 'count':
      parseBoolean(value);
      return;
    case 'top':
    case 'skip':
    case 'index':
      parseNonNegativeInteger(value);
      return;
    case 'search':
    case 'compute':
      throw new ExpressionError('unsupported', `$${name} is not served.`, 0);
    default:
  }
}

/** A plus is a space in a query string; the grammar's tests mean the plus sign. */
function plusSign(text: string): string {
  return text.replaceAll('+', '%2B');
}

function parseOptions(query: string): void {
  for (const [name, { value }] of readQueryOptions(plusSign(query)).system) parseOption(name, value);
}

function parseLiteral(text: string, classes: readonly LiteralClass[]): void {
  const parsed = parseExpression(text);
  if (parsed.kind !== 'literal' || !classes.includes(parsed.literal)) {
    throw new ExpressionError('syntax', `${text} is no literal of the class ${classes.join()}`, 0);
  }
}

const LITERAL_RULES: Readonly<Record<string, readonly LiteralClass[]>> = {
  binaryLiteral: ['binary'],
  boolean: ['boolean'],
  date: ['date'],
  dateTimeOffsetValue: ['dateTimeOffset'],
  dateValue: ['date'],
  decimalValue: ['number'],
  doubleLiteral: ['number'],
  doubleValue: ['number'],
  durationLiteral: ['duration', 'string'],
  enumLiteral: ['enum'],
  guid: ['guid'],
  int16Literal: ['number'],
  int32Literal: ['number'],
  int32Value: ['number'],
  int64Value: ['number'],
  null: ['null'],
  primitiveLiteral: ['number', 'string'],
  sbyteValue: ['number'],
  singleLiteral: ['number'],
  stringLiteral: ['string'],
  timeOfDayLiteral: ['timeOfDay'],
  timeOfDayValue: ['timeOfDay'],
};

const QUERY_RULES =
  /^(?:filter|orderby|orderBy|expand|select|queryOptions|customQueryOption|systemQueryOption|compute|search)$/;

function parseName(text: string): void {
  const scanner = { text, pos: 0 };
  if (readIdentifier(scanner) === null || scanner.pos < text.length) {
    throw new ExpressionError('syntax', `${text} is no name`, scanner.pos);
  }
}

/** Runs a case. @throws Error for a rule that nobody runs. */
function runAbnf({ rule, input, area }: AbnfCase): () => void {
  if (QUERY_RULES.test(rule)) return () => parseOptions(input);
  if (area === 'filter') return () => void parseExpression(decodeOnce(plusSign(input)));
  if (rule === 'durationValue') return () => parseLiteral(`duration'${input}'`, ['duration']);
  if (rule === 'enumValue') return () => parseLiteral(`Ns.T'${input}'`, ['enum']);
  if (rule === 'odataIdentifier') return () => parseName(input);
  const classes = LITERAL_RULES[rule];
  if (classes === undefined) throw new Error(`${rule} is run by nobody`);
  const text = rule.endsWith('Value') ? input : decodeOnce(plusSign(input));
  return () => parseLiteral(text, classes);
}

function outcome(run: () => void): ExpressionError | null {
  try {
    run();
    return null;
  } catch (error) {
    if (error instanceof ExpressionError) return error;
    throw error;
  }
}

describe('the shared cases', () => {
  it('hold for filters: each is read as one of its trees or refused', () => {
    for (const { input, expect, trees = [] } of sharedCases<FilterCase>('odata-filter-cases.json')) {
      let tree: string | null = null;
      const error = outcome(() => {
        tree = treeText(parseExpression(input));
      });
      if (expect === 'ok')
        assert.ok(tree !== null && trees.includes(tree), `${input}: ${error?.message ?? tree}`);
      if (expect === 'err') assert.ok(error !== null, `${input} was read as ${tree}`);
    }
  });

  it('hold for the grammar of the standard, but for constructs outside of the model', () => {
    const used = new Set<string>();
    let run = 0;
    const cases = sharedCases<AbnfCase>('odata-abnf-cases.json');
    for (const one of cases) {
      if (homeOf(one) !== 'expression') continue;
      run += 1;
      const error = outcome(runAbnf(one));
      if (!one.valid) assert.ok(error !== null, `${one.rule}: ${one.input} was accepted`);
      if (!one.valid || error === null) continue;
      const reason = REFUSED.find(([message]) => message.test(error.message));
      assert.ok(reason !== undefined, `${one.rule}: ${one.input}: ${error.message}`);
      used.add(reason[0].source);
    }
    if (cases.length === 0) return;
    assert.ok(run > 350);
    assert.deepEqual(
      REFUSED.filter(([message]) => !used.has(message.source)),
      [],
      'reasons that no case needs',
    );
  });
});
