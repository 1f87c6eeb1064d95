import assert from 'node:assert/strict';
import { PGlite } from '@electric-sql/pglite';
import fc from 'fast-check';
import pg from 'pg';
import { testDatabase } from '../../testing/postgres.ts';
import { bindFilter, bindOrderBy } from './bind.ts';
import { instantOfText } from './calendar.ts';
import { randomFilter } from './cases/random-filter.ts';
import { model, tables, thing } from './cases/sample-model.ts';
import { inserts, rows } from './cases/sample-rows.ts';
import { type EvaluateOptions, evaluate } from './evaluate.ts';
import { ExpressionError } from './expression-error.ts';
import { defineEntityType, primitive } from './model.ts';
import { parseExpression } from './parse.ts';
import { parseOrderBy } from './parse-options.ts';
import type { SqlOptions } from './sql-writer.ts';
import { filterToSql, orderByClause, orderByToSql, valueToSql } from './to-sql.ts';

const NOW = '2024-02-29T12:30:45.500000Z';
const FILTERS = Number(process.env.PULSEFEED_TORTURE_SQL_FILTERS ?? 1500);

const sqlOptions: SqlOptions = {
  alias: 't',
  now: { value: NOW },
  restrict: (_target, alias) => `${alias}."shown"`,
};
const evaluateOptions: EvaluateOptions = {
  now: instantOfText(NOW).picoseconds,
  visible: (_target, row) => row.Shown === true,
};

/** Runs one statement and returns its rows as arrays. */
type Run = (text: string, values: readonly unknown[]) => Promise<readonly (readonly unknown[])[]>;

async function check(run: Run, text: string): Promise<'compared' | 'refused'> {
  let where: ReturnType<typeof filterToSql>;
  let exact: ReturnType<typeof filterToSql>;
  const bound = refusing(() => bindFilter(parseExpression(text), thing, { model }));
  if (bound === null) return 'refused';
  try {
    where = filterToSql(bound, sqlOptions);
    exact = valueToSql(bound, { ...sqlOptions, firstParameter: where.values.length + 1 });
  } catch (error) {
    if (error instanceof ExpressionError && error.kind === 'limit') return 'refused';
    throw error;
  }
  const statement = `select t.id::text, (${where.text}) is true, ${exact.text} from thing as t order by t.id`;
  let found: readonly (readonly unknown[])[];
  try {
    found = await run(statement, [...where.values, ...exact.values]);
  } catch (error) {
    throw new Error(`${text}\n${statement}\n${JSON.stringify(where.values)}\n${String(error)}`);
  }
  const expected = rows.map(row => {
    const value = evaluate(bound, row, evaluateOptions);
    const truth = value === null ? null : value.kind === 'boolean' && value.value;
    return [String(row.Id), truth === true, truth];
  });
  assert.deepEqual(found, expected, `${text}\n${where.text}`);
  return 'compared';
}

/** Null for what is refused by its size, which random arithmetic now and then is. */
function refusing<T>(bind: () => T): T | null {
  try {
    return bind();
  } catch (error) {
    if (error instanceof ExpressionError && (error.kind === 'limit' || /divides by zero/.test(error.message)))
      return null;
    throw error;
  }
}

/** A database with the sample rows: how to query it and how to close it. */
interface Engine {
  readonly run: Run;
  readonly close: () => Promise<void>;
}

async function postgres(): Promise<Engine> {
  const database = await testDatabase();
  const client = new pg.Client({ connectionString: database.url });
  await client.connect();
  await client.query(tables);
  for (const { text, values } of inserts()) await client.query(text, [...values]);
  return {
    run: async (text, values) => (await client.query({ text, values: [...values], rowMode: 'array' })).rows,
    close: async () => {
      await client.end();
      await database.drop();
    },
  };
}

async function embedded(): Promise<Engine> {
  const db = await PGlite.create();
  await db.exec(tables);
  for (const { text, values } of inserts()) await db.query(text, [...values]);
  return {
    run: async (text, values) => (await db.query<unknown[]>(text, [...values], { rowMode: 'array' })).rows,
    close: () => db.close(),
  };
}

function agreement(name: string, open: () => Promise<Engine>, filters: number): void {
  describe(`filterToSql on ${name}`, () => {
    let engine: Engine;
    before(async function () {
      this.timeout(120_000);
      engine = await open();
    });
    after(() => engine.close());

    it('returns the rows that the evaluator picks, for random filters and rows with nulls', async function () {
      this.timeout(60_000 + filters * 50);
      let refused = 0;
      await fc.assert(
        fc.asyncProperty(randomFilter(), async text => {
          if ((await check(engine.run, text)) === 'refused') refused += 1;
        }),
        { numRuns: filters },
      );
      assert.ok(refused < filters / 3, `${refused} of ${filters} random filters were refused by a limit`);
    });

    it('answers nested functions at once, though each needs its argument several times', async () => {
      const deep = `${'substring(Name,length('.repeat(15)}Code${'))'.repeat(15)} eq Name`;
      const started = performance.now();
      assert.equal(await check(engine.run, deep), 'compared');
      assert.ok(performance.now() - started < 5000);
    });

    it('orders nulls as OData says and strings by code points', async () => {
      const order = bindOrderBy(parseOrderBy('Name desc,Id'), thing, { model });
      const items = orderByToSql(order, sqlOptions);
      const found = await engine.run(`select t.name from thing as t order by ${orderByClause(items)}`, []);
      const names = rows.map(row => (typeof row.Name === 'string' ? row.Name : null));
      const expected = names.sort((a, b) =>
        a === null ? (b === null ? 0 : 1) : b === null ? -1 : Buffer.compare(Buffer.from(b), Buffer.from(a)),
      );
      assert.deepEqual(
        found.map(([value]) => value),
        expected,
      );
    });
  });
}

agreement('Postgres', postgres, FILTERS);
agreement('PGlite', embedded, Math.ceil(FILTERS / 5));

describe('the plans of filters on Postgres', () => {
  const event = defineEntityType({
    namespace: 'Sample',
    name: 'Event',
    key: ['EntityEventSequence'],
    table: { name: 'event' },
    properties: [
      { name: 'EntityEventSequence', type: primitive('Edm.Int64'), nullable: false, column: 'seq' },
      { name: 'ResourceRecordKey', type: primitive('Edm.String'), nullable: false, column: 'key' },
      { name: 'Latitude', type: primitive('Edm.Double'), nullable: true, column: 'latitude' },
      { name: 'Changed', type: primitive('Edm.DateTimeOffset'), nullable: true, column: 'changed' },
    ],
    navigation: [],
  });
  let engine: Engine;
  before(async function () {
    this.timeout(120_000);
    engine = await postgres();
    await engine.run(
      'create table event (seq bigint primary key, key text not null, latitude float8, changed timestamptz)',
      [],
    );
    await engine.run(
      "insert into event select n, 'K' || n, n / 1000.0, timestamptz '2024-01-01' + n * interval '1 minute' from generate_series(1, 20000) n",
      [],
    );
    await engine.run('create index on event (key)', []);
    await engine.run('create index on event (latitude)', []);
    await engine.run('create index on event (changed)', []);
    await engine.run('analyze event', []);
  });
  after(() => engine.close());

  async function plan(filter: string, tail = ''): Promise<string> {
    const { text, values } = filterToSql(bindFilter(parseExpression(filter), event), {
      alias: 'e',
      now: { value: NOW },
    });
    const lines = await engine.run(`explain select * from event as e where ${text} ${tail}`, values);
    return lines.map(([line]) => String(line)).join('\n');
  }

  it('scan the index of the sequence from where the client stands, with no sort', async () => {
    const found = await plan('EntityEventSequence gt 19000', 'order by e.seq limit 10');
    assert.match(found, /Index Scan using event_pkey[\s\S]*Index Cond: \(seq > '19000'::bigint\)/);
    assert.doesNotMatch(found, /Sort|Seq Scan|Filter/);
    assert.match(
      await plan('EntityEventSequence ge 19000.5 and EntityEventSequence lt 19999'),
      /Index Cond: \(\(seq > .*\) AND \(seq < /,
    );
  });

  it('use an index for keys, ranges of doubles and times', async () => {
    const keys = Array.from({ length: 50 }, (_, index) => `'K${index}'`).join(',');
    assert.match(await plan(`ResourceRecordKey in (${keys})`), /Index Cond: \(key = ANY/);
    assert.match(await plan("ResourceRecordKey eq 'K7'"), /Index Cond: \(key = 'K7'/);
    assert.match(
      await plan('Latitude ge 5 and Latitude le 5.01'),
      /Index Cond: \(\(latitude >= .*\) AND \(latitude <= /,
    );
    assert.match(await plan('Changed gt 2024-01-14T20:00:00Z'), /Index Cond: \(changed > /);
    assert.match(
      await plan("Changed lt 2024-02-29T00:00:00Z sub duration'P59D'"),
      /Index Cond: \(changed < /,
    );
  });
});
