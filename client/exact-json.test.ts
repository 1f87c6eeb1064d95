import assert from 'node:assert/strict';
import fc from 'fast-check';
import { ExactDecimal, exactNumber, isJsonObject, parseExact, stringifyExact } from './exact-json.ts';

/** A number that JSON.parse would change sends the whole text through the exact reader. */
const EXACT = '9007199254740993';

describe('exact JSON', () => {
  it('keeps integers past 2^53 and decimals of many digits', () => {
    const text =
      '{"a":9007199254740993,"b":-9223372036854775808,"c":0.1234567890123456789,"d":1e400,"e":1e-400,"f":12.50}';
    const value = parseExact(text);
    assert.ok(isJsonObject(value));
    assert.equal(value.a, 9007199254740993n);
    assert.equal(value.b, -9223372036854775808n);
    assert.deepEqual(value.c, new ExactDecimal('0.1234567890123456789'));
    assert.equal(value.f, 12.5);
    assert.equal(stringifyExact(value), text.replace('12.50', '12.5'));
  });

  it('keeps every Int64 and every double', () => {
    fc.assert(
      fc.property(
        fc.bigInt(-(2n ** 63n), 2n ** 63n - 1n),
        n => BigInt(String(exactNumber(n.toString()))) === n,
      ),
    );
    fc.assert(
      fc.property(
        fc.double({ noNaN: true, noDefaultInfinity: true }),
        n => Number(String(exactNumber(JSON.stringify(n)))) === n,
      ),
    );
  });

  it('reads what JSON.parse reads, and writes it so that it reads the same', () => {
    fc.assert(
      fc.property(fc.jsonValue(), value => {
        const text = JSON.stringify(value);
        const exact = parseExact(`[${EXACT},${text}]`);
        assert.ok(Array.isArray(exact));
        assert.deepEqual(JSON.parse(stringifyExact(exact[1] ?? null)), JSON.parse(text));
        assert.equal(stringifyExact(exact).startsWith(`[${EXACT},`), true);
      }),
    );
  });

  it('refuses a text that is cut anywhere, and one with something after it', () => {
    const whole = `{"a" : [${EXACT}, "x\\"y\\\\", true, null, {}, []] , "b":{"c":-1.5e3}}`;
    parseExact(whole);
    for (let end = 0; end < whole.length; end++)
      assert.throws(() => parseExact(whole.slice(0, end)), SyntaxError);
    for (const bad of ['x', '}', ',', '1']) assert.throws(() => parseExact(whole + bad), SyntaxError);
  });

  it('refuses what JSON does not allow', () => {
    const bad = [
      '01',
      '1.',
      '.5',
      '+1',
      '[1,]',
      '{"a":1,}',
      "{'a':1}",
      '{a:1}',
      '"\n"',
      'nul',
      '[1 2]',
      '{"a" 1}',
      'NaN',
      '',
    ];
    for (const text of bad)
      assert.throws(() => parseExact(`[${EXACT},${text}`.concat(']')), SyntaxError, text);
    assert.throws(() => parseExact(`${'['.repeat(300)}${EXACT}${']'.repeat(300)}`), SyntaxError);
  });

  it('takes __proto__ for a field', () => {
    const value = parseExact(`{"__proto__":{"x":1},"n":${EXACT}}`);
    assert.ok(isJsonObject(value) && Object.hasOwn(value, '__proto__') && !('x' in value));
  });
});
