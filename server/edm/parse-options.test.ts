import assert from 'node:assert/strict';
import type { ExpandItem } from './ast.ts';
import { treeText } from './cases/tree-text.ts';
import { ExpressionError, type ExpressionErrorKind } from './expression-error.ts';
import { parseExpand } from './parse-expand.ts';
import { parseBoolean, parseNonNegativeInteger, parseOrderBy, parseSelect } from './parse-options.ts';
import { printOrderBy } from './print.ts';

function refused(run: () => unknown): ExpressionErrorKind {
  try {
    run();
  } catch (error) {
    if (error instanceof ExpressionError) return error.kind;
    throw error;
  }
  throw new Error('nothing was thrown');
}

/** An expand item in short. */
function short({ path, star, suffix, options }: ExpandItem): string {
  const name = `${star ? '*' : path.map(step => step.name).join('/')}${suffix === null ? '' : `/$${suffix}`}`;
  const parts = [
    options.select?.map(item => (item.star ? '*' : item.path.map(step => step.name).join('/'))).join(),
    options.filter && treeText(options.filter),
    options.orderby && printOrderBy(options.orderby),
    options.top,
    options.skip,
    options.count,
    options.expand?.map(short).join(),
  ];
  const given = parts.map(part => (part === undefined ? '' : String(part))).join(';');
  return /^;*$/.test(given) ? name : `${name}(${given})`;
}

describe('parseOrderBy', () => {
  it('reads expressions with directions in any case', () => {
    const order = (text: string): string =>
      parseOrderBy(text)
        .map(({ expr, descending }) => `${treeText(expr)}${descending ? ' desc' : ''}`)
        .join('; ');
    assert.equal(order('a'), 'a');
    assert.equal(order('a desc,b'), 'a desc; b');
    assert.equal(order(' a DESC , b Asc '), 'a desc; b');
    assert.equal(order('desc desc,asc'), 'desc desc; asc');
    assert.equal(order('a gt b asc,length(c) desc'), '(gt a b); (length c) desc');
    assert.equal(order('a/b,c/$count desc'), 'a/b; c/$count desc');
    assert.equal(order('a\tdesc'), 'a desc');
  });

  it('refuses empty items, other directions and text behind', () => {
    for (const text of [
      '',
      ' ',
      'a,',
      ',a',
      'a,,b',
      'a descending',
      'a desc desc',
      'a;b',
      'a b',
      'a desc b',
    ]) {
      assert.equal(
        refused(() => parseOrderBy(text)),
        'syntax',
        text,
      );
    }
  });
});

describe('parseSelect', () => {
  it('reads names, paths and the star', () => {
    const select = (text: string): readonly string[] =>
      parseSelect(text).map(({ path, star }) => (star ? '*' : path.map(step => step.name).join('/')));
    assert.deepEqual(select('*'), ['*']);
    assert.deepEqual(select(' A , B/C '), ['A', 'B/C']);
    assert.deepEqual(select('A,A,*'), ['A', 'A', '*']);
  });

  it('refuses what is no name, and what it does not serve', () => {
    for (const text of ['', 'A,', 'A B', 'A;B', '1', 'A/', '/A', "'A'", 'A eq 1', '**']) {
      assert.equal(
        refused(() => parseSelect(text)),
        'syntax',
        text,
      );
    }
    for (const text of ['A($select=B)', '@Ns.T', 'Ns.*'])
      assert.equal(
        refused(() => parseSelect(text)),
        'unsupported',
        text,
      );
  });
});

describe('parseExpand', () => {
  it('reads nested options', () => {
    const expand = (text: string): string => parseExpand(text).map(short).join(' | ');
    assert.equal(expand('Media'), 'Media');
    assert.equal(expand('Media,Office/Member'), 'Media | Office/Member');
    assert.equal(expand('*'), '*');
    assert.equal(expand('Media/$ref,Media/$count'), 'Media/$ref | Media/$count');
    assert.equal(
      expand("Media($top=5;$select=A,B;$filter=a eq 'x;y)';$orderby=c desc,d;$count=true;$skip=1)"),
      'Media(A,B;(eq a "x;y)");c desc,d;5;1;true;)',
    );
    assert.equal(
      expand('A(expand=B(Filter=c/any(x:x eq 1);top=0),C)'),
      'A(;;;;;;B(;c/(any x (eq x 1));;0;;;),C)',
    );
    assert.equal(expand('A( $top=1 ; $skip=2 ),B'), 'A(;;;1;2;;) | B');
    assert.equal(expand('A/$count($filter=b)'), 'A/$count(;b;;;;;)');
  });

  it('refuses broken options, options given twice and options that make no sense', () => {
    const broken = [
      '',
      'A(',
      'A()',
      'A($top=1',
      'A($top=1))',
      'A($top=x)',
      'A($top)',
      'A($foo=1)',
      'A(top=1,skip=2)',
      'A,',
    ];
    for (const text of broken)
      assert.equal(
        refused(() => parseExpand(text)),
        'syntax',
        text,
      );
    for (const text of [
      'A($top=1;top=2)',
      'A/$ref($select=b)',
      'A/$count($top=1)',
      'A/$foo',
      'A($filter=b c)',
    ]) {
      assert.equal(
        refused(() => parseExpand(text)),
        'syntax',
        text,
      );
    }
    const unserved = [
      'A($levels=2)',
      'A($levels=max)',
      'A($search=x)',
      'A($compute=x)',
      'A/*',
      'A(@p=1)',
      'A/$value',
    ];
    for (const text of unserved)
      assert.equal(
        refused(() => parseExpand(text)),
        'unsupported',
        text,
      );
  });

  it('bounds the nesting', () => {
    assert.equal(
      refused(() => parseExpand(`${'A($expand='.repeat(500)}B${')'.repeat(500)}`)),
      'limit',
    );
  });
});

describe('simple option values', () => {
  it('are read strictly', () => {
    assert.equal(parseBoolean('TRUE'), true);
    assert.equal(parseBoolean('false'), false);
    for (const text of ['', '1', 'yes', ' true', 'true '])
      assert.equal(
        refused(() => parseBoolean(text)),
        'syntax',
        text,
      );
    assert.equal(parseNonNegativeInteger('0'), 0);
    assert.equal(parseNonNegativeInteger('007'), 7);
    assert.equal(parseNonNegativeInteger('99999999999999999999'), Number.MAX_SAFE_INTEGER);
    for (const text of ['', '-1', '+1', '1.5', '1e3', ' 5', '5 ', '٣', 'x']) {
      assert.equal(
        refused(() => parseNonNegativeInteger(text)),
        'syntax',
        text,
      );
    }
  });
});
