import assert from 'node:assert/strict';
import fc from 'fast-check';
import { ExpressionError, type ExpressionErrorKind } from './expression-error.ts';
import { decodeOnce, readQueryOptions } from './query-options.ts';

function system(query: string): Readonly<Record<string, string>> {
  return Object.fromEntries([...readQueryOptions(query).system].map(([name, { value }]) => [name, value]));
}

function refusal(query: string): readonly [ExpressionErrorKind, number] {
  try {
    readQueryOptions(query);
  } catch (error) {
    if (error instanceof ExpressionError) return [error.kind, error.position];
    throw error;
  }
  throw new Error(`${query} was accepted`);
}

describe('readQueryOptions', () => {
  it('knows system options in any case, with and without the dollar, encoded or not', () => {
    for (const name of ['$filter', 'filter', '$FILTER', 'Filter', '%24filter', '%24%66ilter']) {
      assert.deepEqual(system(`${name}=a%20eq%201`), { filter: 'a eq 1' }, name);
    }
  });

  it('splits at & and the first = before it decodes, and decodes once', () => {
    assert.deepEqual(system("$filter=a eq 'x%26b%3Dc'&$top=5"), { filter: "a eq 'x&b=c'", top: '5' });
    assert.deepEqual(system('$filter=a eq b=c'), { filter: 'a eq b=c' });
    assert.deepEqual(system("$filter=a eq '%2527'"), { filter: "a eq '%27'" });
    assert.deepEqual(system("$filter=a eq '%2Bx'"), { filter: "a eq '+x'" });
  });

  it('takes a plus for a space', () => {
    assert.deepEqual(system('$filter=a+eq+1'), { filter: 'a eq 1' });
    assert.deepEqual(system('$filter=t+ge+2024-01-01T00:00:00%2B02:00'), {
      filter: 't ge 2024-01-01T00:00:00+02:00',
    });
  });

  it('refuses an option given twice in whatever spelling', () => {
    for (const query of [
      '$top=5&$top=5',
      '$top=5&Top=10',
      '$filter=a&%24FILTER=b',
      '@p=1&@p=1',
      '@p=1&%40p=2',
    ]) {
      assert.equal(refusal(query)[0], 'syntax', query);
    }
    assert.deepEqual(refusal('$top=5&x=1&top=5'), ['syntax', 11]);
  });

  it('refuses unknown options with a dollar and options without a value, and ignores custom ones', () => {
    assert.deepEqual(refusal('$foo=1'), ['unknown-name', 0]);
    assert.deepEqual(refusal('a=1&$filterX=2'), ['unknown-name', 4]);
    assert.deepEqual(refusal('$count'), ['syntax', 0]);
    assert.deepEqual(refusal('$filter%20=true'), ['unknown-name', 0]);
    assert.deepEqual(refusal('filter%20=true'), ['syntax', 0]);
    assert.deepEqual(refusal('=x'), ['syntax', 0]);
    const { custom, system: known, all } = readQueryOptions('find=O%27Neil&!special&&x=1&x=2&$top=1');
    assert.deepEqual(custom, [
      { name: 'find', value: "O'Neil", raw: 'find=O%27Neil' },
      { name: '!special', value: '', raw: '!special' },
      { name: 'x', value: '1', raw: 'x=1' },
      { name: 'x', value: '2', raw: 'x=2' },
    ]);
    assert.equal(known.get('top')?.value, '1');
    assert.equal(all.length, 5);
  });

  it('collects parameter aliases, whose names keep their case', () => {
    const { aliases } = readQueryOptions('@p=1&@P=2&%40keys=%5B%22a%22%5D&$filter=a eq @p');
    assert.deepEqual(
      [...aliases],
      [
        ['p', '1'],
        ['P', '2'],
        ['keys', '["a"]'],
      ],
    );
    for (const query of ['@=1', '@1=1', '@a.b=1', '@a b=1']) assert.equal(refusal(query)[0], 'syntax', query);
  });

  it('refuses broken escapes, bytes that are no UTF-8, overlong and surrogate encodings, and NUL', () => {
    for (const bad of [
      '%',
      '%z',
      '%zz',
      '%F',
      '%FF',
      '%C0%80',
      '%E2%82',
      '%ED%A0%80',
      '%F5%80%80%80',
      '%00',
    ]) {
      assert.equal(refusal(`$filter=a eq '${bad}'`)[0], 'syntax', bad);
      assert.equal(refusal(`x=1&${bad}=1`)[1], 4, bad);
    }
  });

  it('gives back what encodeURIComponent and form encoding made', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), text => {
        const clean = text.replaceAll('\0', '');
        assert.equal(decodeOnce(encodeURIComponent(clean)), clean);
        const form = new URLSearchParams({ x: clean }).toString().slice('x='.length);
        assert.equal(decodeOnce(form), clean);
      }),
    );
  });
});
