import assert from 'node:assert/strict';
import { bindExpression, bindFilter, bindOrderBy } from './bind.ts';
import { model, thing } from './cases/sample-model.ts';
import { ExpressionError } from './expression-error.ts';
import { bindKey, parseKeyPredicate } from './key.ts';
import { parseExpression } from './parse.ts';
import { parseOrderBy } from './parse-options.ts';
import { quoteIdentifier, type SqlFragment, type SqlOptions } from './sql-writer.ts';
import { filterToSql, keyToSql, orderByClause, orderByToSql, valueToSql } from './to-sql.ts';

const seen: SqlOptions = { alias: 't', restrict: () => null };

function sql(text: string, options: Partial<SqlOptions> = {}): SqlFragment {
  const expr = parseExpression(text, { consumerAttributes: true });
  return filterToSql(bindFilter(expr, thing, { model }), { ...seen, ...options });
}

function text(filter: string): string {
  return sql(filter).text;
}

describe('filterToSql', () => {
  it('compares a bigint column with a bigint, so that its index serves', () => {
    assert.deepEqual(sql('Id gt 123456789'), { text: '(("t"."id" > $1::bigint))', values: ['123456789'] });
    assert.deepEqual(sql('9007199254740993 le Id').values, ['9007199254740993']);
    assert.deepEqual(sql('Id ge 1.5'), { text: '(("t"."id" > $1::bigint))', values: ['1'] });
    assert.deepEqual(sql('Id lt -1.5'), { text: '(("t"."id" <= $1::bigint))', values: ['-2'] });
    assert.deepEqual(sql('Id eq 2.0').values, ['2']);
  });

  it('decides by itself what no bigint reaches', () => {
    assert.deepEqual(sql('Id gt 9223372036854775808'), { text: '(false)', values: [] });
    assert.deepEqual(sql('Id lt 9223372036854775808'), { text: '(true)', values: [] });
    assert.equal(text('Big lt 9223372036854775808'), '(("t"."big" is not null))');
    assert.equal(text('Big gt -9223372036854775809'), '(("t"."big" is not null))');
    assert.equal(text('Id eq 1.5'), '(false)');
    assert.equal(text('Id ne 9223372036854775808'), '(true)');
    assert.equal(text('Id lt INF'), '(true)');
    assert.equal(text('Id gt NaN'), '(false)');
    assert.deepEqual(sql('Id in (1,9223372036854775808,2.5,3)').values, [['1', '3']]);
  });

  it('keeps a comparison bare where null and false are the same, and exact below not', () => {
    assert.equal(text('Big gt 1'), '(("t"."big" > $1::bigint))');
    assert.equal(text('not (Big gt 1)'), '(not ((("t"."big" > $1::bigint) is true)))');
    assert.equal(text('Big ne 1'), '(("t"."big" is distinct from $1::bigint))');
    assert.equal(text('Id ne 1'), '(("t"."id" <> $1::bigint))');
    assert.equal(text('not (Id gt 1)'), '(not (("t"."id" > $1::bigint)))');
    assert.equal(
      text('Big eq null or not (Big eq Count)'),
      '(("t"."big" is null) or (not (("t"."big" is not distinct from "t"."count"))))',
    );
  });

  it('binds every value and quotes every identifier', () => {
    const hostile = `'; drop table thing; --`;
    const { text: where, values } = sql(
      `Code eq '${hostile.replaceAll("'", "''")}' and contains(Name,'%_''?$1')`,
    );
    assert.equal(
      where,
      '((("t"."code ""quoted""" = $1::text)) and (strpos(("t"."name") collate "C", ($2::text) collate "C") > 0))',
    );
    assert.deepEqual(values, [hostile, "%_'?$1"]);
    assert.equal(quoteIdentifier('a"; drop'), '"a""; drop"');
    assert.throws(() => quoteIdentifier(''));
    assert.throws(() => quoteIdentifier('a\0'));
    assert.match(sql('Id eq 1', { alias: 'x"y' }).text, /"x""y"\."id"/);
  });

  it('numbers its placeholders from where it is told, in the order of the text, without holes', () => {
    const { text: where, values } = sql(
      "Big gt 1 and Name in () and Name eq 'x' and Owner/Rank gt 9223372036854775808",
      {
        firstParameter: 7,
        restrict: (_target, alias, bind) => `${alias}."shown" = ${bind(true, 'boolean')}`,
      },
    );
    assert.equal(where.match(/\$\d+/g)?.join(), '$7,$8');
    assert.deepEqual(values, ['1', 'x']);
  });

  it('sends an in list as one parameter however long it is', () => {
    const keys = Array.from({ length: 1000 }, (_, index) => `K${index}`);
    const { text: where, values } = sql(`Code in (${keys.map(key => `'${key}'`).join(',')})`);
    assert.equal(where, '("t"."code ""quoted""" = any($1::text[]))');
    assert.deepEqual(values, [keys]);
  });

  it('reaches related rows only under the condition on who may see them', () => {
    const restrict: SqlOptions['restrict'] = (target, alias) => `${alias}."shown" /* ${target.name} */`;
    const any = sql('Parts/any(p:p/Maker/Rank gt 1)', { restrict }).text;
    assert.match(any, /"_v1"\."shown" \/\* Part \*\//);
    assert.match(any, /"_n2"\."shown" \/\* Owner \*\//);
    for (const filter of [
      'Parts/any()',
      'Owner/Name eq null',
      'Parts/$count gt 1',
      'Owner eq null',
      'Owner/Made/all(m:m/Ready)',
    ]) {
      assert.match(sql(filter, { restrict }).text, /"shown"/, filter);
      const bound = bindFilter(parseExpression(filter), thing, { model });
      assert.throws(() => filterToSql(bound, { alias: 't' }), /nothing says which rows may be seen/, filter);
    }
  });

  it('takes now and the consumer from the caller, and fails closed without an attribute', () => {
    const now = { value: '2024-01-01T00:00:00Z' };
    assert.deepEqual(sql('Made le now()', { now }), {
      text: '(("t"."made" <= $1::timestamptz))',
      values: [now.value],
    });
    assert.match(
      sql('Made le now()', { now: { sql: 'statement_timestamp()' } }).text,
      /statement_timestamp\(\)/,
    );
    const consumer: SqlOptions['consumer'] = name =>
      name === 'Key' ? { value: 'k' } : name === 'Sql' ? { sql: 'c.value' } : undefined;
    assert.deepEqual(sql('Code eq @consumer.Key', { consumer }).values, ['k']);
    assert.match(sql('Code eq @consumer.Sql', { consumer }).text, /= c\.value/);
    assert.throws(() => sql('not (Code eq @consumer.None)', { consumer }), { kind: 'unknown-name' });
    assert.throws(() => sql('Code eq @consumer.Key'), ExpressionError);
  });

  it('never rounds a time: finer than a microsecond it lies between two values of the column', () => {
    const fine = '2024-01-01T00:00:00.0000005Z';
    assert.equal(text(`Made eq ${fine}`), '(false)');
    assert.equal(text(`Made ne ${fine}`), '(true)');
    assert.deepEqual(sql(`Made gt ${fine}`), sql('Made gt 2024-01-01T00:00:00Z'));
    assert.deepEqual(sql(`Made ge ${fine}`), sql('Made gt 2024-01-01T00:00:00Z'));
    assert.deepEqual(sql(`Made lt ${fine}`), sql('Made le 2024-01-01T00:00:00Z'));
    assert.deepEqual(sql(`Made in (${fine},2024-01-01T02:00:00+02:00)`).values, [['2024-01-01T00:00:00Z']]);
    assert.deepEqual(sql('Made gt 1969-12-31T23:59:59.1234565Z').values, ['1969-12-31T23:59:59.123456Z']);
    assert.throws(() => sql(`(${fine} sub Made) gt duration'PT1S'`), { kind: 'limit' });
  });

  it('does not grow faster than the filter, however functions are nested', () => {
    const nested = (depth: number): string =>
      `${'substring(Name,length('.repeat(depth)}Code${'))'.repeat(depth)}`;
    const cast = (depth: number): string =>
      `${'cast('.repeat(depth)}Rate add 1${',Edm.Int64) add 1'.repeat(depth)} gt 1`;
    const duration = (depth: number): string =>
      `${'(Made add ('.repeat(depth)}Made sub Stamp${')) sub Stamp'.repeat(depth)} eq Span`;
    const length = (filter: string): number => text(filter).length;
    assert.ok(length(`${nested(20)} eq 'x'`) < 25 * length(`${nested(1)} eq 'x'`));
    assert.ok(length(cast(20)) < 25 * length(cast(1)));
    assert.ok(length(duration(3)) < 5 * length(duration(1)));
  });
});

describe('valueToSql, orderByToSql and keyToSql', () => {
  it('orders nulls first ascending and last descending, strings by code points', () => {
    const bound = bindOrderBy(parseOrderBy("Name desc,Big,contains(Name,'x')"), thing, { model });
    const items = orderByToSql(bound, { alias: 't', firstParameter: 3 });
    assert.equal(
      orderByClause(items),
      '("t"."name") collate "C" desc nulls last, "t"."big" asc nulls first, (strpos(("t"."name") collate "C", ($3::text) collate "C") > 0) asc nulls first',
    );
    assert.deepEqual(
      items.flatMap(item => item.values),
      ['x'],
    );
  });

  it('keeps the three values of a condition', () => {
    const bound = bindExpression(parseExpression('Flag and Big gt 1'), thing, { model });
    assert.equal(
      valueToSql(bound, { alias: 't' }).text,
      '("t"."flag" and ((("t"."big" > $1::bigint) is true)))',
    );
  });

  it('finds a row by its key', () => {
    const key = bindKey(parseKeyPredicate("'42'"), thing, { model });
    assert.deepEqual(keyToSql(key, thing, { alias: 't' }), {
      text: '((("t"."id" = $1::bigint)))',
      values: ['42'],
    });
  });
});
