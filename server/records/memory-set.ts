import type { CollectionPlan, EntityRow, EntitySet, ShapePlan } from '../edm/entity-set.ts';
import {
  type EntityType,
  type EvaluateOptions,
  evaluate,
  evaluateFilter,
  type Row,
  type TypedOrderItem,
  type TypedValue,
  type Value,
  valueType,
} from '../edm/index.ts';

/** A record with one key property, its values as JSON has them. */
export type MemoryRow = Readonly<Record<string, string | null>>;

const picosecondsOfMillisecond = 1_000_000_000n;

/**
 * An entity set over rows in memory that everybody may read: read only, in an order that is the same in every process.
 * A page goes on at its place in the list, which does not change while the service runs.
 */
export function memorySet(type: EntityType, rows: readonly MemoryRow[]): EntitySet {
  const [keyName = ''] = type.key;
  const byKey = new Map(rows.map(row => [row[keyName], row]));
  const passing = (filter: TypedValue | undefined) => {
    if (filter === undefined) return rows;
    const options: EvaluateOptions = { now: BigInt(Date.now()) * picosecondsOfMillisecond };
    return rows.filter(row => evaluateFilter(filter, row, options));
  };
  return {
    name: type.name,
    type,
    writable: false,
    async readPage(plan) {
      const found = sorted(passing(plan.filter), plan.orderBy);
      const start = plan.after === undefined ? plan.skip : Number(plan.after[0]) + 1;
      return {
        rows: found
          .slice(start, start + plan.limit)
          .map((row, index) => ({ ...entityRow(type, row, plan), position: [String(start + index)] })),
        more: found.length > start + plan.limit,
        ...(plan.count ? { count: BigInt(found.length) } : {}),
      };
    },
    async readOne([key], plan) {
      const row = byKey.get(key ?? null);
      return row === undefined ? undefined : entityRow(type, row, plan);
    },
    count: async filter => BigInt(passing(filter).length),
  };
}

function sorted(rows: readonly MemoryRow[], orderBy: CollectionPlan['orderBy']): readonly MemoryRow[] {
  const keyed = rows.map(row => ({ row, values: orderBy.map(({ expr }) => evaluate(expr, row as Row)) }));
  keyed.sort((a, b) => {
    for (const [index, item] of orderBy.entries()) {
      const order = compare(item, a.values[index] ?? null, b.values[index] ?? null);
      if (order !== 0) return item.descending ? -order : order;
    }
    return 0;
  });
  return keyed.map(({ row }) => row);
}

/** Null sorts below every value (URL Conventions 5.1.5). */
function compare({ expr }: TypedOrderItem, a: Value, b: Value): number {
  if (a === null || b === null) return a === b ? 0 : a === null ? -1 : 1;
  const type = valueType(expr);
  if (type === null) return 0;
  const literal = (value: NonNullable<Value>): TypedValue => ({ kind: 'literal', type, value, at: 0 });
  const holds = (op: 'lt' | 'gt') =>
    evaluateFilter({ kind: 'compare', op, left: literal(a), right: literal(b), at: 0 }, {});
  return holds('lt') ? -1 : holds('gt') ? 1 : 0;
}

function entityRow(type: EntityType, row: MemoryRow, { select, omitNulls }: ShapePlan): EntityRow {
  const members = type.properties
    .filter(({ name }) => select?.includes(name) ?? true)
    .map(({ name }) => [name, row[name] ?? null] as const)
    .filter(([, value]) => !(omitNulls && value === null));
  return {
    json: JSON.stringify(Object.fromEntries(members)),
    key: type.key.map(name => row[name] ?? ''),
    position: [],
  };
}
