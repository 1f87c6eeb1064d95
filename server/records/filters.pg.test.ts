import assert from 'node:assert/strict';
import fc from 'fast-check';
import type { ResourceConfig } from '../base/config/index.ts';
import { serveRecords } from './cases/served-records.ts';

/** A row as the test itself has it; the numbers are small integers and quarters, which JavaScript holds exactly. */
interface Listing {
  readonly key: string;
  readonly price: number | null;
  readonly beds: number | null;
  readonly city: string | null;
  readonly day: string | null;
  readonly sold: boolean | null;
  readonly tags: readonly string[];
}

/** A filter, and what it means for a row: true, false or null. Written apart from the product's own language. */
interface Case {
  readonly text: string;
  readonly holds: (row: Listing) => boolean | null;
}

const cities = ["O'Hare", 'aspen', 'Aspen', 'Ütrecht', '', '100%_'];
const tags = ['a', 'b', "c'd"];
const days = ['2024-02-28', '2024-02-29', '2024-03-01'];

const listing = fc.record({
  price: fc.option(fc.integer({ min: -8, max: 8 }).map(n => n / 4)),
  beds: fc.option(fc.integer({ min: 0, max: 4 })),
  city: fc.option(fc.constantFrom(...cities)),
  day: fc.option(fc.constantFrom(...days)),
  sold: fc.option(fc.boolean()),
  tags: fc.uniqueArray(fc.constantFrom(...tags)),
});

type Op = 'eq' | 'ne' | 'gt' | 'ge' | 'lt' | 'le';

/** OData's comparison: null equals null and nothing else; with gt, ge, lt and le it is false. */
function compared<T extends string | number>(op: Op, a: T | null, b: T | null): boolean {
  if (a === null || b === null) return op === 'eq' ? a === b : op === 'ne' ? a !== b : false;
  switch (op) {
    case 'eq':
      return a === b;
    case 'ne':
      return a !== b;
    case 'gt':
      return a > b;
    case 'ge':
      return a >= b;
    case 'lt':
      return a < b;
    case 'le':
      return a <= b;
    default: {
      const never: never = op;
      return never;
    }
  }
}

const op = fc.constantFrom<Op>('eq', 'ne', 'gt', 'ge', 'lt', 'le');
const equality = fc.constantFrom<Op>('eq', 'ne');
const quote = (text: string) => `'${text.replaceAll("'", "''")}'`;

const leaf: fc.Arbitrary<Case> = fc.oneof(
  fc.tuple(op, fc.option(fc.integer({ min: -8, max: 8 }).map(n => n / 4))).map(
    ([o, value]): Case => ({
      text: `ListPrice ${o} ${value}`,
      holds: row => compared(o, row.price, value),
    }),
  ),
  fc.tuple(op, fc.integer({ min: 0, max: 4 })).map(
    ([o, value]): Case => ({
      text: `BedroomsTotal add 1 ${o} ${value}`,
      holds: row => compared(o, row.beds === null ? null : row.beds + 1, value),
    }),
  ),
  fc.tuple(equality, fc.constantFrom(...cities)).map(
    ([o, value]): Case => ({
      text: `City ${o} ${quote(value)}`,
      holds: row => compared(o, row.city, value),
    }),
  ),
  fc.tuple(op, fc.constantFrom(...days)).map(
    ([o, value]): Case => ({
      text: `OnMarketDate ${o} ${value}`,
      holds: row => compared(o, row.day, value),
    }),
  ),
  fc.uniqueArray(fc.constantFrom(...cities), { minLength: 1 }).map(
    (values): Case => ({
      text: `City in (${values.map(quote).join(',')})`,
      holds: row => row.city !== null && values.includes(row.city),
    }),
  ),
  fc.constantFrom(...cities, 's', '%').map(
    (part): Case => ({
      text: `contains(City,${quote(part)})`,
      holds: row => (row.city === null ? null : row.city.includes(part)),
    }),
  ),
  fc.tuple(fc.constantFrom('any', 'all'), fc.constantFrom(...tags)).map(
    ([name, tag]): Case => ({
      text: `Tags/${name}(t:t eq ${quote(tag)})`,
      holds: row => (name === 'any' ? row.tags.includes(tag) : row.tags.every(one => one === tag)),
    }),
  ),
  fc.constant<Case>({ text: 'Sold', holds: row => row.sold }),
);

const { filter } = fc.letrec<{ filter: Case }>(tie => ({
  filter: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    leaf,
    fc.tuple(fc.constantFrom('and', 'or'), tie('filter'), tie('filter')).map(
      ([word, a, b]): Case => ({
        text: `(${a.text}) ${word} (${b.text})`,
        holds: row =>
          word === 'and' ? both(a.holds(row), b.holds(row)) : either(a.holds(row), b.holds(row)),
      }),
    ),
    tie('filter').map(
      (a): Case => ({
        text: `not (${a.text})`,
        holds: row => {
          const value = a.holds(row);
          return value === null ? null : !value;
        },
      }),
    ),
  ),
}));

function both(a: boolean | null, b: boolean | null): boolean | null {
  return a === false || b === false ? false : a === null || b === null ? null : true;
}

function either(a: boolean | null, b: boolean | null): boolean | null {
  return a === true || b === true ? true : a === null || b === null ? null : false;
}

const table = `
create table property (
  "ListingKey" text primary key, "ListPrice" numeric(8,2), "BedroomsTotal" integer, "City" text, "OnMarketDate" date,
  "Sold" boolean, "Tags" text[]
)`;

const resources: readonly ResourceConfig[] = [{ name: 'Property', table: 'property', key: 'ListingKey' }];

/** PULSEFEED_TORTURE_FILTER_RUNS raises it. */
const runs = Number(process.env.PULSEFEED_TORTURE_FILTER_RUNS ?? 150);

describe('random filters over records', () => {
  it('return the rows that an independent evaluation picks, in the order of their keys', async function () {
    this.timeout(20_000 + runs * 100);
    const { all, runtime, settle } = await serveRecords(table, resources);
    const rows = fc
      .sample(listing, { numRuns: 120, seed: 7 })
      .map((row, n): Listing => ({ key: `L${String(n).padStart(3, '0')}`, ...row }));
    await runtime.db.query({
      text: `insert into property
        select r ->> 'key', (r ->> 'price')::numeric, (r ->> 'beds')::integer, r ->> 'city', (r ->> 'day')::date,
          (r ->> 'sold')::boolean, array(select json_array_elements_text(r -> 'tags'))
        from json_array_elements($1::json) r`,
      values: [JSON.stringify(rows)],
    });
    await settle();
    const property = fc.asyncProperty(filter, async ({ text, holds }) => {
      const path = `/Property?$select=ListingKey&$filter=${encodeURIComponent(text)}`;
      const expected = rows.filter(row => holds(row) === true).map(({ key }) => key);
      assert.deepEqual(await all(path, 'ListingKey'), expected, text);
    });
    await fc.assert(property, { numRuns: runs });
  });
});
