import assert from 'node:assert/strict';
import fc from 'fast-check';
import { type Json, parseExactJson, writeExactJson } from './exact-json.ts';

/** The value as JSON.parse would have it, rounded. */
function rounded(value: Json): unknown {
  if (typeof value === 'bigint') return Number(value);
  if (Array.isArray(value)) return value.map(rounded);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, rounded(each)]));
}

describe('exact JSON', () => {
  it('keeps every digit of an Int64', () => {
    assert.deepEqual({ ...(parseExactJson('{"n":9007199254740993}') as object) }, { n: 9007199254740993n });
    assert.equal(parseExactJson('-9223372036854775808'), -(2n ** 63n));
  });

  it('tells integers from numbers with a fraction or an exponent', () => {
    assert.deepEqual(parseExactJson('[1, 1.0, 1e2]'), [1n, 1, 100]);
  });

  it('writes bigints as numbers that it reads back', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }), number => {
        assert.deepEqual(
          parseExactJson(writeExactJson({ number })),
          Object.assign(Object.create(null), { number }),
        );
      }),
    );
  });

  it('reads whatever JSON.stringify writes as JSON.parse does, integers apart', () => {
    fc.assert(
      fc.property(fc.jsonValue(), value => {
        const text = JSON.stringify(value);
        assert.equal(JSON.stringify(rounded(parseExactJson(text))), JSON.stringify(JSON.parse(text)));
      }),
    );
  });

  for (const text of [
    '',
    '{',
    '[1,]',
    '{"a":}',
    '01',
    '+1',
    '.5',
    "{'a':1}",
    '"a\nb"',
    '"\\x"',
    'nul',
    '1 2',
    '{"a" 1}',
    '[1 2]',
  ]) {
    it(`refuses ${JSON.stringify(text)}, as JSON.parse does`, () => {
      assert.throws(() => JSON.parse(text), SyntaxError);
      assert.throws(() => parseExactJson(text), SyntaxError);
    });
  }

  it('refuses nesting beyond its limit instead of running out of stack', () => {
    assert.throws(() => parseExactJson('['.repeat(100_000)), SyntaxError);
  });
});
