import assert from 'node:assert/strict';
import fc from 'fast-check';
import { canonicalInstant, canonicalNumber, differingFields, hashRecord, plainRecord } from './canonical.ts';
import { ExactDecimal, type JsonValue } from './exact-json.ts';
import type { Field } from './metadata.ts';

const FIELDS: readonly Field[] = [
  { name: 'N', type: 'Edm.Decimal' },
  { name: 'I', type: 'Edm.Int64' },
  { name: 'D', type: 'Edm.Double' },
  { name: 'T', type: 'Edm.DateTimeOffset' },
  { name: 'G', type: 'Edm.Guid' },
  { name: 'S', type: 'Edm.String' },
];
const hash = (name: string, value: JsonValue) => hashRecord(FIELDS, { [name]: value });

describe('the hash of a record', () => {
  it('is the same for two writings of one value', () => {
    assert.equal(hash('N', '1.50'), hash('N', 1.5));
    assert.equal(hash('N', new ExactDecimal('1500e-3')), hash('N', 1.5));
    assert.equal(hash('I', 9007199254740993n), hash('I', '9007199254740993'));
    assert.equal(hash('D', 0.1), hash('D', '0.10'));
    assert.equal(hash('T', '2024-01-01T00:30:00+01:00'), hash('T', '2023-12-31T23:30:00.000Z'));
    assert.equal(
      hash('G', 'ABCDEF00-0000-0000-0000-000000000000'),
      hash('G', 'abcdef00-0000-0000-0000-000000000000'),
    );
    assert.equal(hash('S', null), hashRecord(FIELDS, { '@odata.etag': 'x' }));
    assert.equal(hashRecord(FIELDS, { S: 'a', N: 1 }), hashRecord(FIELDS, { N: 1, S: 'a' }));
  });

  it('differs for two values, however close', () => {
    assert.notEqual(hash('I', 9007199254740993n), hash('I', 9007199254740992n));
    assert.notEqual(
      hash('N', new ExactDecimal('0.12345678901234567')),
      hash('N', new ExactDecimal('0.12345678901234568')),
    );
    assert.notEqual(hash('T', '2024-01-01T00:00:00.1234567Z'), hash('T', '2024-01-01T00:00:00.1234568Z'));
    assert.notEqual(hash('S', '1'), hash('S', 1));
    assert.notEqual(hash('S', ''), hash('S', null));
    assert.deepEqual(differingFields(FIELDS, { N: 1, S: 'a' }, { N: 1, S: 'b', X: 1 }), ['S', 'X']);
  });

  it('takes equal numbers for equal and others for different', () => {
    const decimal = fc.tuple(fc.bigInt(-(10n ** 20n), 10n ** 20n), fc.integer({ min: -30, max: 30 }));
    fc.assert(
      fc.property(decimal, decimal, ([a, i], [b, j]) => {
        const equal = a * 10n ** BigInt(i + 30) === b * 10n ** BigInt(j + 30);
        return (canonicalNumber(`${a}e${i}`) === canonicalNumber(`${b}e${j}`)) === equal;
      }),
    );
    fc.assert(
      fc.property(
        fc.double({ noNaN: true, noDefaultInfinity: true }),
        n => canonicalNumber(String(n)) === canonicalNumber(`${n}`.toUpperCase()),
      ),
    );
  });

  it('takes nothing for an instant that is none', () => {
    for (const text of [
      '2024-13-01T00:00:00Z',
      '2024-02-30T00:00:00Z',
      '2024-01-01',
      '2024-01-01T25:00:00Z',
      '0000-00-00T00:00:00Z',
      'x',
    ]) {
      assert.equal(canonicalInstant(text), undefined, text);
    }
  });
});

describe('a plain record', () => {
  it('has no annotations and only well-formed strings', () => {
    const record = plainRecord({
      '@odata.etag': 'x',
      'A@odata.count': 1,
      A: 'a\ud800b',
      B: ['\udc00'],
      C: { d: 1n },
    });
    assert.deepEqual(record, { A: 'a\ufffdb', B: ['\ufffd'], C: { d: 1n } });
  });
});
