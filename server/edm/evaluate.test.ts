import assert from 'node:assert/strict';
import fc from 'fast-check';
import { bindExpression } from './bind.ts';
import { civilFromDays, daysFromCivil, instantOfText, instantText } from './calendar.ts';
import { model, thing } from './cases/sample-model.ts';
import { ceilingDecimal, decimalText, floorDecimal, parseDecimal, roundDecimal } from './decimal.ts';
import { evaluate, evaluateFilter, type Row } from './evaluate.ts';
import { parseExpression } from './parse.ts';

const now = instantOfText('2024-02-29T12:30:45.5Z').picoseconds;

function truth(text: string, row: Row = {}): boolean | null {
  const value = evaluate(bindExpression(parseExpression(text), thing, { model }), row, { now });
  if (value === null) return null;
  assert.ok(value.kind === 'boolean', text);
  return value.value;
}

/** What the standard says, by hand: URL Conventions 4.01, section 5.1.1. */
const TRUTHS: readonly (readonly [string, boolean | null, Row?])[] = [
  ['null eq null', true],
  ['null ne null', false],
  ['null gt null', false],
  ['null ge null', false],
  ['Name eq null', true],
  ["Name ne 'x'", true],
  ["Name gt 'x'", false],
  ["not (Name gt 'x')", true],
  ["Name ne 'x'", false, { Name: 'x' }],
  ['Flag', null],
  ['not Flag', null],
  ['Flag and false', false],
  ['Flag and true', null],
  ['Flag or true', true],
  ['Flag or false', null],
  ['Flag eq null', true],
  ["contains(Name,'x')", null],
  ["not contains(Name,'x')", null],
  ["contains(Name,'x') eq null", true],
  ["Name in ('x',null)", true],
  ["Name in ('x')", false],
  ["not (Name in ('x'))", true],
  ['Name in ()', false, { Name: 'x' }],
  ['7 div 2 eq 3', true],
  ['-7 div 2 eq -3', true],
  ['7 divby 2 eq 3.5', true],
  ['7 div 2.0 eq 3.5', true],
  ['7 mod 3 eq 1', true],
  ['-7 mod 3 eq -1', true],
  ['7 mod -3 eq 1', true],
  ['0.1 add 0.2 eq 0.3', true],
  ['1 divby 3 mul 3 lt 1', true],
  ['10 sub 3 sub 2 eq 5', true],
  ['9223372036854775807 add 1 eq 9223372036854775808', true],
  ['9007199254740993 eq 9007199254740992', false],
  ['Big eq 9007199254740993', true, { Big: '9007199254740993' }],
  ['Big div Count eq null', true, { Big: 1, Count: 0 }],
  ['round(2.5) eq 3', true],
  ['round(-2.5) eq -3', true],
  ['round(2.4999999999999999999) eq 2', true],
  ['floor(-2.1) eq -3', true],
  ['ceiling(-2.1) eq -2', true],
  ['NaN eq NaN', false],
  ['NaN ne NaN', true],
  ['INF gt 1e400', true],
  ['-INF lt INF', true],
  ['Short eq 1.1', true, { Short: Math.fround(1.1) }],
  ['Lat eq 0.1', true, { Lat: 0.1 }],
  ["indexof('abc','c') eq 2", true],
  ["indexof('abc','x') eq -1", true],
  ["indexof('\u{1F600}b','b') eq 1", true],
  ["length('\u{1F600}') eq 1", true],
  ["substring('abc',1) eq 'bc'", true],
  ["substring('abc',1,1) eq 'b'", true],
  ["substring('abc',-1) eq 'abc'", true],
  ["substring('abc',9) eq ''", true],
  ["substring('abc',1,-1) eq ''", true],
  ["trim(' \u00a0\u3000a b\t') eq 'a b'", true],
  ["concat('a',concat('b','c')) eq 'abc'", true],
  ["'a' lt 'b' and 'B' lt 'a' and 'Z' lt 'É'", true],
  ["'\uff5e' lt '\u{1F600}'", true],
  ["tolower('ÀB') eq 'àb' and toupper('ß') eq 'ß'", true],
  ['year(2024-01-01T00:30:00+02:00) eq 2024', true],
  ['date(2024-01-01T00:30:00+02:00) eq 2024-01-01', true],
  ['totaloffsetminutes(2024-01-01T00:30:00-03:30) eq -210', true],
  ['fractionalseconds(2024-01-01T00:00:00.123456789012Z) eq 0.123456789012', true],
  ['2024-01-01T00:30:00+02:00 eq 2023-12-31T22:30:00Z', true],
  ['2024-01-01T00:00:00.000000000001Z gt 2024-01-01T00:00:00Z', true],
  ['2016-12-31T23:59:60Z eq 2017-01-01T00:00:00Z', true],
  ['now() eq 2024-02-29T12:30:45.5Z and year(now()) eq 2024', true],
  ['hour(now()) eq 12 and minute(now()) eq 30 and second(now()) eq 45', true],
  ["now() sub duration'P1D' eq 2024-02-28T12:30:45.5Z", true],
  ["2024-02-28 add duration'P2D' eq 2024-03-01", true],
  ["2024-03-01 sub 2024-02-28 eq duration'P2D'", true],
  ["duration'P1D' eq duration'PT24H' and duration'PT1.5S' mul 2 eq duration'PT3S'", true],
  ["totalseconds(duration'PT1M0.5S') eq 60.5", true],
  ["-duration'P1D' lt duration'PT0S'", true],
  ["cast(1.5,Edm.Int64) eq 2 and cast('7',Edm.Int64) eq 7", true],
  ['cast(Rate,Edm.Int16) eq null', true, { Rate: '40000' }],
  ["cast(Price,Edm.String) eq '1.5'", true, { Price: '1.50' }],
  ['isof(Name,Edm.String)', true, { Name: 'x' }],
  ['isof(Name,Edm.String)', false],
  ['isof(Name,Edm.Int64) or isof(Sample.Part)', false],
  ['Tags/any()', false],
  ["Tags/all(t:t eq 'x')", true],
  ["Tags/any(t:t eq 'x')", true, { Tags: ['a', 'x'] }],
  ["Tags/all(t:t eq 'x')", false, { Tags: ['x', null] }],
  ['Tags/any(t:t eq null)', true, { Tags: [null] }],
  ['Tags/$count eq 2', true, { Tags: ['a', null] }],
  ["Tags/$count($filter=$this eq 'a') eq 1", true, { Tags: ['a', 'b'] }],
  ['Parts/any(p:p/Weight gt Price)', true, { Price: '1', Parts: [{ Weight: '0.5' }, { Weight: '1.5' }] }],
  ['Parts/all(p:p/Ready)', false, { Parts: [{ Ready: true }, { Ready: null }] }],
  ['Parts/$count($filter=Ready) eq 1', true, { Parts: [{ Ready: true }, { Ready: null }] }],
  ['Owner eq null and Owner/Name eq null', true],
  ['Owner/Rank gt 2', true, { Owner: { Id: 1, Rank: 3 } }],
  ["Address/Street eq 'Main'", true, { Address: { Street: 'Main' } }],
  ["Style has 'Striped'", true, { Style: 3 }],
  ["Style has 'Striped,Dotted'", false, { Style: 3 }],
  ["Style has 'Striped'", null],
  ["Color eq 'Red' and Color ne 'Blue'", true, { Color: 'Red' }],
  ["Style ge 'Dotted'", true, { Style: 4 }],
];

describe('evaluate', () => {
  for (const [text, expected, row] of TRUTHS) {
    it(`finds ${text} ${expected}${row === undefined ? '' : ` for ${JSON.stringify(row)}`}`, () => {
      assert.equal(truth(text, row), expected);
    });
  }

  it('lets null pass no filter', () => {
    assert.equal(evaluateFilter(bindExpression(parseExpression('Flag'), thing, { model }), {}), false);
  });

  it('hides related rows that may not be seen', () => {
    const expr = bindExpression(parseExpression('Parts/$count eq 1 and Owner eq null'), thing, { model });
    const row = { Parts: [{ Shown: true }, { Shown: false }], Owner: { Id: 1, Shown: false } };
    assert.equal(evaluateFilter(expr, row, { visible: (_target, related) => related.Shown === true }), true);
    assert.equal(evaluateFilter(expr, row), false);
  });
});

describe('the calendar', () => {
  it('agrees with the built-in one on every day it can hold', () => {
    fc.assert(
      fc.property(fc.integer({ min: -719162, max: 2932896 }), days => {
        const { year, month, day } = civilFromDays(days);
        const date = new Date(days * 86_400_000);
        assert.deepEqual(
          [year, month, day],
          [date.getUTCFullYear(), date.getUTCMonth() + 1, date.getUTCDate()],
        );
        assert.equal(daysFromCivil(year, month, day), days);
      }),
    );
  });

  it('writes an instant as it was read, in UTC', () => {
    for (const text of [
      '0001-01-01T00:00:00Z',
      '1969-12-31T23:59:59.999999999999Z',
      '9999-12-31T23:59:59.5Z',
    ]) {
      assert.equal(instantText(instantOfText(text).picoseconds), text);
    }
  });
});

describe('decimals', () => {
  it('round, floor and ceil as numbers do, without their errors', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: -1_000_000, max: 1_000_000 }),
        fc.integer({ min: 0, max: 3 }),
        (coefficient, scale) => {
          const number = coefficient / 10 ** scale;
          const decimal = { coefficient: BigInt(coefficient), scale };
          const text = (value: number): string => String(value + 0);
          assert.equal(decimalText(floorDecimal(decimal)), text(Math.floor(number)));
          assert.equal(decimalText(ceilingDecimal(decimal)), text(Math.ceil(number)));
          assert.equal(
            decimalText(roundDecimal(decimal)),
            text(Math.sign(number) * Math.round(Math.abs(number))),
          );
        },
      ),
    );
  });

  it('are read and written exactly', () => {
    assert.equal(decimalText(parseDecimal('-0.050')), '-0.050');
    assert.equal(decimalText(parseDecimal('1.5e3')), '1500');
    assert.equal(decimalText(parseDecimal('15E-3')), '0.015');
    assert.throws(() => parseDecimal('1.'), RangeError);
  });
});
