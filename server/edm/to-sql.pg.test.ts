import assert from 'node:assert/strict';
import fc from 'fast-check';
import pg from 'pg';
import { testDatabase } from '../../testing/postgres.ts';
import { bindFilter } from './bind.ts';
import { instantOfText } from './calendar.ts';
import { randomFilter } from './cases/random-filter.ts';
import { model, tables, thing } from './cases/sample-model.ts';
import { inserts, rows } from './cases/sample-rows.ts';
import { type EvaluateOptions, evaluate } from './evaluate.ts';
import { ExpressionError } from './expression-error.ts';
import { parseExpression } from './parse.ts';
import type { SqlOptions } from './sql-writer.ts';
import { filterToSql, valueToSql } from './to-sql.ts';

const NOW = '2024-02-29T12:30:45.500000Z';
const FILTERS = Number(process.env.PULSEFEED_SQL_FILTERS ?? 1500);

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

describe('filterToSql on Postgres', () => {
  let database: Awaited<ReturnType<typeof testDatabase>>;
  let client: pg.Client;
  const run: Run = async (text, values) =>
    (await client.query({ text, values: [...values], rowMode: 'array' })).rows;

  before(async function () {
    this.timeout(120_000);
    database = await testDatabase();
    client = new pg.Client({ connectionString: database.url });
    await client.connect();
    await client.query(tables);
    for (const { text, values } of inserts()) await client.query(text, [...values]);
  });
  after(async () => {
    await client.end();
    await database.drop();
  });

  it('returns the rows that the evaluator picks, for random filters and rows with nulls', async function () {
    this.timeout(0);
    let refused = 0;
    await fc.assert(
      fc.asyncProperty(randomFilter(), async text => {
        if ((await check(run, text)) === 'refused') refused += 1;
      }),
      { numRuns: FILTERS },
    );
    assert.ok(refused < FILTERS / 3, `${refused} of ${FILTERS} random filters were refused by a limit`);
  });
});
