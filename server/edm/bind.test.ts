import assert from 'node:assert/strict';
import { bindExpression, bindFilter, bindOrderBy } from './bind.ts';
import type { BindOptions } from './binder.ts';
import { model, thing } from './cases/sample-model.ts';
import { decimalText } from './decimal.ts';
import { ExpressionError, type ExpressionErrorKind } from './expression-error.ts';
import { bindKey, parseKeyPredicate } from './key.ts';
import { parseExpression } from './parse.ts';
import { parseOrderBy } from './parse-options.ts';
import { operandsOf, type TypedLiteral, type TypedValue, valueType } from './typed.ts';

function bind(text: string, options: BindOptions = {}): TypedValue {
  return bindFilter(parseExpression(text, { consumerAttributes: true }), thing, { model, ...options });
}

function refusal(text: string, options: BindOptions = {}): readonly [ExpressionErrorKind, number] {
  try {
    bind(text, options);
  } catch (error) {
    if (error instanceof ExpressionError) return [error.kind, error.position];
    throw error;
  }
  throw new Error(`${text} was accepted`);
}

const REFUSED: readonly (readonly [string, ExpressionErrorKind, number])[] = [
  ['Nope eq 1', 'unknown-name', 0],
  ['Name eq Nope', 'unknown-name', 8],
  ['name eq 1', 'unknown-name', 0],
  ['Owner/Nope eq 1', 'unknown-name', 6],
  ['Address/Nope eq 1', 'unknown-name', 8],
  ['Parts/any(p:p/Nope)', 'unknown-name', 14],
  ['Parts/any(p:q/Ready)', 'unknown-name', 12],
  ['__proto__ eq 1', 'unknown-name', 0],
  ['constructor/prototype eq 1', 'unknown-name', 0],
  ['NULL eq Name', 'unknown-name', 0],
  ["Name eq Nope.Type'A'", 'unknown-name', 8],
  ['cast(Name,Edm.Nope) eq 1', 'unknown-name', 10],
  ['Name', 'type', 0],
  ['1', 'type', 0],
  ["'x'", 'type', 0],
  ['Name and Flag', 'type', 0],
  ['Flag or Big', 'type', 8],
  ['not Big', 'type', 4],
  ['not Big eq 1', 'type', 4],
  ['Name eq 1', 'type', 8],
  ["Big eq '1'", 'type', 7],
  ['Big eq true', 'type', 7],
  ['Stamp ge 2024-01-01', 'type', 9],
  ["Stamp ge '2024-01-01T00:00:00Z'", 'type', 9],
  ['Day ge now()', 'type', 7],
  ['Uid gt 01234567-89ab-cdef-0123-456789abcdef', 'type', 4],
  ["Bytes gt binary'AQ'", 'type', 6],
  ["Color gt 'Red'", 'type', 6],
  ["Color eq 'Pink'", 'type', 9],
  ["Color eq 'Red,Blue'", 'type', 9],
  ['Color eq 7', 'type', 6],
  ["Style eq Sample.Color'Red'", 'type', 9],
  ['Color eq Style', 'type', 9],
  ['Big in (1,true)', 'type', 10],
  ["Name in ('a',1)", 'type', 13],
  ['Name in Sizes', 'type', 8],
  ['Name in Parts', 'type', 8],
  ['Name in Code', 'type', 8],
  ['Name has 1', 'type', 0],
  ['Style has Small', 'type', 10],
  ["Style has Sample.Color'Red'", 'type', 10],
  ['Name add 1 eq 2', 'type', 5],
  ['1 add Flag eq 2', 'type', 2],
  ['Day add 1 eq Day', 'type', 4],
  ['Stamp add Stamp eq Stamp', 'type', 6],
  ['Span mod 2 eq Span', 'type', 5],
  ['-Name eq 1', 'type', 1],
  ['-Stamp eq Stamp', 'type', 1],
  ['Big div 0 eq 1', 'type', 8],
  ['Big mod 0.0 eq 1', 'type', 8],
  ['length(Big) eq 1', 'type', 7],
  ['contains(Name,1)', 'type', 14],
  ['contains(Tags,Name)', 'type', 9],
  ['year(Name) eq 1', 'type', 5],
  ['year(At) eq 1', 'type', 5],
  ['hour(Day) eq 1', 'type', 5],
  ['date(Day) eq Day', 'type', 5],
  ['round(Name) eq 1', 'type', 6],
  ['substring(Name,1.5) eq Name', 'type', 15],
  ['Tags eq null', 'type', 0],
  ['Parts eq null', 'type', 0],
  ['Parts/Ready', 'type', 6],
  ['Parts/Maker/Name eq 1', 'type', 6],
  ['Tags/x eq 1', 'type', 5],
  ['Name/x eq 1', 'type', 5],
  ['Owner', 'type', 0],
  ['Owner eq Owner', 'type', 0],
  ['$it eq null', 'type', 0],
  ['Name/any()', 'type', 0],
  ['Owner/any()', 'type', 0],
  ['Tags/any(t:t)', 'type', 11],
  ['Tags/any(t:t/x eq 1)', 'type', 13],
  ['Parts/any(p:p)', 'type', 12],
  ['Parts/any(p:p/Marks/any(p:p eq 1))', 'type', 26],
  ['Name/$count gt 1', 'type', 0],
  ["Tags/$count($filter=$it eq 'x') gt 1", 'type', 20],
  ['cast(Name,Edm.Int64) eq 1', 'unsupported', 0],
  ["cast('x',Edm.Int64) eq 1", 'type', 5],
  ["cast('1.5',Edm.Int64) eq 1", 'type', 5],
  ["cast('99999',Edm.Int16) eq 1", 'type', 5],
  ["cast('2024-13-01',Edm.Date) eq Day", 'type', 5],
  ['Address eq Address', 'unsupported', 8],
  ['$root/Things eq 1', 'unsupported', 0],
  ['Sample.Other/Name eq 1', 'unsupported', 0],
  ['cast(Sample.Thing)', 'unsupported', 0],
  ["Color has 'Red'", 'unsupported', 6],
  ['cast(Big,Edm.Byte) eq 1', 'unsupported', 9],
  ['Big eq 1e401', 'limit', 7],
  ['Stamp eq -0001-01-01T00:00:00Z', 'limit', 9],
  ['Stamp eq 0001-01-01T00:00:00+00:01', 'limit', 9],
  ['Day eq 10000-01-01', 'limit', 7],
  ["Stamp add duration'P2000000D' gt Stamp", 'limit', 6],
  ['@consumer.A', 'type', 0],
  ['@consumer.A eq @consumer.B', 'type', 12],
  ['@consumer.A add 1 eq 2', 'type', 0],
  ["@consumer.A in ('x')", 'type', 0],
  ['not @consumer.A', 'type', 4],
];

describe('bindFilter', () => {
  for (const [text, kind, position] of REFUSED) {
    it(`refuses ${text} as ${kind} at ${position}`, () => {
      assert.deepEqual(refusal(text), [kind, position]);
    });
  }

  it('accepts what has a meaning, null included', () => {
    for (const text of [
      'null',
      'Flag',
      'null eq null',
      'null and Flag',
      'Flag eq null or not null',
      'Name eq null and null ne Name and null gt Big',
      'contains(null,Name)',
      'year(null) eq null',
      'null add 1 eq 2',
      '-null eq null',
      'Flag gt false',
      'contains(Name,Code) eq true',
      "Color eq 'Red' and 'Red' eq Color and Color eq 0 and Color eq Sample.Color'Blue'",
      "Style has 'Plain,Striped' and Style has 3 and Style has Sample.Style'4'",
      "Span gt 'PT1H' and Span eq duration'PT1H'",
      'Owner eq null and Owner/Name ne null and Address eq null',
      'Parts/any(p:p/Maker eq null)',
      'Sample.Thing/Name eq Name',
      '$it/Name eq $this/Name',
      'Tags/$count($filter=$this eq $it/Name) gt 1',
      'Big eq Price and Price eq Lat and Lat eq Short',
      "Stamp sub Made gt duration'P1D' and now() sub duration'P7D' lt Made",
      "cast('42',Edm.Int64) eq Big and cast('2024-01-01',Edm.Date) eq Day and cast(42,Edm.String) eq Name",
      "cast('Red',Sample.Color) eq Color and cast('PT1S',Edm.Duration) eq Span",
      'Name eq @consumer.Name and @consumer.Big gt Big and contains(Name,@consumer.Part)',
      'null in (1,null) and null in Tags and Name in (null)',
    ]) {
      assert.equal(valueType(bind(text))?.name, 'Edm.Boolean', text);
    }
  });

  it('gives a consumer attribute the type of what it is compared with', () => {
    const types: string[] = [];
    const walk = (expr: TypedValue): void => {
      if (expr.kind === 'consumer') types.push(`${expr.attribute} ${expr.type.name}`);
      operandsOf(expr).forEach(walk);
    };
    walk(bind('@consumer.A eq Big and Uid ne @consumer.B and startswith(@consumer.C,Name)'));
    assert.deepEqual(types, ['A Edm.Int64', 'B Edm.Guid', 'C Edm.String']);
  });

  it('keeps every digit of a literal', () => {
    const expr = bind(
      'Rate eq 0.12345678901234567890123456789 and Stamp eq 2024-01-01T00:00:00.123456789012+02:00',
    );
    const values = operandsOf(expr).map(compare => operandsOf(compare)[1] as TypedLiteral);
    const [rate, stamp] = values.map(({ value }) => value);
    assert.ok(rate?.kind === 'number' && stamp?.kind === 'instant');
    assert.equal(decimalText(rate.value), '0.12345678901234567890123456789');
    assert.equal(stamp.picoseconds, BigInt(Date.UTC(2023, 11, 31, 22)) * 1_000_000_000n + 123456789012n);
  });

  it('says what was expected and names only the model and the text', () => {
    assert.throws(() => bind('Name eq 1'), {
      message: /Edm.String and Edm.Int64 cannot be compared.*single quotes/,
    });
    assert.throws(() => bind('Nope eq 1'), {
      message: 'Thing has no property Nope.',
      expected: 'a property of Thing',
    });
  });
});

describe('parameter aliases', () => {
  const aliases = new Map([
    ['one', '1'],
    ['name', "'x'"],
    ['keys', '["a","b"]'],
    ['list', "('a',null)"],
    ['cond', 'Big gt @one'],
    ['a', '@b'],
    ['b', '@a'],
    ['bad', "'x"],
    ['wrong', "'x'"],
    [
      'bomb1',
      '@bomb2 and @bomb2 and @bomb2 and @bomb2 and @bomb2 and @bomb2 and @bomb2 and @bomb2 and @bomb2 and @bomb2',
    ],
    [
      'bomb2',
      '@bomb3 and @bomb3 and @bomb3 and @bomb3 and @bomb3 and @bomb3 and @bomb3 and @bomb3 and @bomb3 and @bomb3',
    ],
    [
      'bomb3',
      '@bomb4 and @bomb4 and @bomb4 and @bomb4 and @bomb4 and @bomb4 and @bomb4 and @bomb4 and @bomb4 and @bomb4',
    ],
    ['bomb4', 'Flag'],
  ]);

  it('stand for values, lists and conditions; a missing one is null', () => {
    for (const text of [
      'Big eq @one',
      'Name in @keys',
      'Name in @list',
      'Name in (@name,@missing)',
      '@cond',
      'Name eq @missing',
    ]) {
      assert.ok(bind(text, { aliases }), text);
    }
    const listed = bind('Name in (@name,@missing)', { aliases });
    assert.ok(listed.kind === 'in' && listed.hasNull && listed.items.length === 1);
  });

  it('refuse circles, multiplication, broken values and wrong types at the place of the alias', () => {
    assert.deepEqual(refusal('Flag and @a', { aliases }), ['syntax', 9]);
    assert.equal(
      refusal('Flag and @bomb1 and @bomb1 and @bomb1 and @bomb1 and @bomb1 and @bomb1 and @bomb1', {
        aliases,
      })[0],
      'limit',
    );
    const deep = new Map(Array.from({ length: 20 }, (_, index) => [`d${index}`, `not @d${index + 1}`]));
    assert.equal(refusal('@d0', { aliases: deep })[0], 'limit');
    assert.deepEqual(refusal('Flag and Name eq @bad', { aliases }), ['syntax', 17]);
    assert.deepEqual(refusal('Flag and Big eq @wrong', { aliases }), ['type', 16]);
    assert.deepEqual(refusal('Big in @keys', { aliases }), ['type', 7]);
    assert.deepEqual(refusal('Big in @one', { aliases }), ['type', 7]);
    assert.deepEqual(refusal('Big in @missing', { aliases }), ['type', 7]);
  });
});

describe('bindOrderBy', () => {
  it('types its items and refuses what has no order', () => {
    const items = bindOrderBy(parseOrderBy('Name desc,length(Code),Owner/Rank,Parts/$count'), thing, {
      model,
    });
    assert.deepEqual(
      items.map(({ descending }) => descending),
      [true, false, false, false],
    );
    for (const text of ['Address', 'Tags', 'Parts', 'null', 'Nope', 'Owner']) {
      assert.throws(() => bindOrderBy(parseOrderBy(text), thing, { model }), ExpressionError, text);
    }
  });
});

describe('bindKey', () => {
  const key = (text: string): string => {
    const [literal] = bindKey(parseKeyPredicate(text), thing, { model, aliases: new Map([['k', '42']]) });
    if (literal?.value.kind !== 'number') throw new Error('no number');
    return decimalText(literal.value.value);
  };

  it('takes a key with and without its name, from an alias, and in quotes', () => {
    for (const text of ['42', 'Id=42', ' Id = 42 ', '@k', 'Id=@k', "'42'", "Id='42'"])
      assert.equal(key(text), '42', text);
  });

  it('refuses keys that are none', () => {
    for (const text of [
      '',
      '42L',
      '4.2',
      '1,2',
      'Wrong=1',
      'Id=1,Id=1',
      'id=1',
      'null',
      'true',
      "'x'",
      "'4.2'",
      '9223372036854775808',
      '@nope',
      'Name',
      '(1)',
      '1)',
    ]) {
      assert.throws(() => key(text), ExpressionError, text);
    }
  });
});

describe('bindExpression', () => {
  it('refuses $it within $expand, where it would be an instance of another collection', () => {
    const expr = parseExpression('$it/Name eq Name');
    assert.throws(() => bindExpression(expr, thing, { model, nested: true }), { kind: 'unsupported' });
  });
});
