import assert from 'node:assert/strict';
import type { Column, ResourceTable } from '../base/catalog/index.ts';
import { PulsefeedError } from '../base/errors.ts';
import { type AbnfCase, homeOf, sharedCases } from '../edm/cases/abnf-cases.ts';
import { entityTypesOf } from '../edm/index.ts';
import type { RecordResource } from './schema.ts';
import { readWriteBody } from './write-body.ts';

/** One column of each kind that a body may fill. */
const baseTypes = [
  'text',
  'bool',
  'int4',
  'int8',
  'numeric',
  'uuid',
  'bytea',
  'date',
  'timestamptz',
] as const;

function column(name: string, baseType: string): Column {
  return {
    name,
    type: baseType,
    baseType,
    notNull: name === 'Key',
    maxLength: name === 'Short' ? 3 : undefined,
    precision: baseType === 'numeric' ? 5 : undefined,
    scale: baseType === 'numeric' ? 2 : undefined,
    generated: false,
    hasDefault: false,
    collation: undefined,
  };
}

function resource(): RecordResource {
  const key = column('Key', 'text');
  const table: ResourceTable = {
    config: { name: 'Thing', table: 'thing', key: 'Key' },
    schema: 'public',
    name: 'thing',
    quoted: '"public"."thing"',
    partitioned: false,
    versioned: true,
    columns: [
      key,
      column('Short', 'varchar'),
      column('Tags', '_text'),
      ...baseTypes.map(type => column(`F_${type}`, type)),
    ],
    key,
  };
  const [type] = entityTypesOf([table]);
  assert.ok(type !== undefined);
  return { table, type };
}

/** The targets of the faults; empty when the body is taken. */
function faults(body: string): string[] {
  try {
    readWriteBody(resource(), body, 'create');
    return [];
  } catch (error) {
    assert.ok(error instanceof PulsefeedError, String(error));
    return error.details.length === 0 ? ['body'] : error.details.map(({ target }) => target ?? '');
  }
}

describe('bodies that are written', () => {
  it('take the payload values of the grammar and no other spelling of them', () => {
    for (const { rule, input, valid } of sharedCases<AbnfCase>('odata-abnf-cases.json').filter(
      one => homeOf(one) === 'payload',
    )) {
      const taken = baseTypes.some(type => {
        const bare = rule === 'booleanValue' || (type.startsWith('int') && /^[1-9]\d*$/.test(input));
        const value = bare ? input : JSON.stringify(input);
        // Every text is a string: what is asked is whether the other types take it.
        const string = type === 'text' && input === 'Yellow';
        return (string || type !== 'text') && faults(`{"F_${type}":${value}}`).length === 0;
      });
      assert.equal(taken, valid, `${rule}: ${input}`);
    }
  });

  it('are read by type, each wrong member told', () => {
    const taken = [
      '{}',
      '{"Key":"k","F_text":"","F_bool":true,"F_int4":-2147483648,"F_int8":9223372036854775807}',
      '{"F_int8":"9223372036854775807","F_numeric":"999.99"}',
      '{"F_numeric":-1.5,"F_uuid":"01234567-89ab-cdef-0123-456789abcdef","F_bytea":"YWJj"}',
      '{"F_date":"2024-02-29","F_timestamptz":"2024-02-29T23:59:59.123456Z","F_text":null}',
      '{"Tags":[],"Short":"äöü"}',
      '{"Tags":["a","b"],"@odata.type":"#Thing","F_text@odata.type":"#String"}',
    ];
    for (const body of taken) assert.deepEqual(faults(body), [], body);
    const refused: readonly (readonly [string, readonly string[]])[] = [
      ['', ['body']],
      ['{', ['body']],
      ['[]', ['body']],
      ['null', ['body']],
      ['{"F_bool":tRUe}', ['body']],
      ['{"F_bool":True}', ['body']],
      ['{"F_int4":01}', ['body']],
      ['{"F_bool":"true"}', ['F_bool']],
      ['{"F_bool":1}', ['F_bool']],
      ['{"F_int4":2147483648}', ['F_int4']],
      ['{"F_int4":1.5}', ['F_int4']],
      ['{"F_int4":"1"}', ['F_int4']],
      ['{"F_int8":"9223372036854775808"}', ['F_int8']],
      ['{"F_int8":"1L"}', ['F_int8']],
      ['{"F_numeric":1000}', ['F_numeric']],
      ['{"F_numeric":1.234}', ['F_numeric']],
      ['{"F_uuid":"01234567"}', ['F_uuid']],
      ['{"F_bytea":"a b"}', ['F_bytea']],
      ['{"F_date":"2023-02-29"}', ['F_date']],
      ['{"F_date":"2023-02-28T00:00:00Z"}', ['F_date']],
      ['{"F_timestamptz":"2024-02-29T23:59:59"}', ['F_timestamptz']],
      ['{"F_text":1}', ['F_text']],
      ['{"F_text":"\\u0000"}', ['F_text']],
      ['{"F_text":"\\ud800"}', ['F_text']],
      ['{"Short":"four"}', ['Short']],
      ['{"Tags":null}', ['Tags']],
      ['{"Tags":[1]}', ['Tags']],
      ['{"Key":null,"Nothing":1,"f_text":"x"}', ['Key', 'Nothing', 'f_text']],
    ];
    for (const [body, targets] of refused) assert.deepEqual(faults(body), targets, body);
  });
});
