import { keyText, matchKey, type ResourceTable } from '../base/catalog/index.ts';
import { type Db, quoteIdentifier } from '../base/db/index.ts';
import type { CollectionPlan, EntityPage, EntityRow, EntitySet, ShapePlan } from '../edm/entity-set.ts';
import {
  type EntityType,
  entityTypeOf,
  filterToSql,
  orderSql,
  seekItems,
  seekSql,
  type TypedValue,
} from '../edm/index.ts';

import { wireSql } from './wire-sql.ts';

/** The alias of the provider's table in every statement. */
const alias = 't';

/** The records of one resource, straight from the provider's table. */
export function recordSet(db: Db, table: ResourceTable): EntitySet {
  const type = entityTypeOf(table);
  return {
    name: table.config.name,
    type,
    writable: false,
    readPage: plan => readPage(db, table, type, plan),
    readOne: (key, plan) => readOne(db, table, type, key, plan),
    async count(filter) {
      const where = filterSql(filter);
      const [row] = await db.query<{ count: bigint }>({
        text: `select count(*) as count from ${table.quoted} ${alias} where ${where.text}`,
        values: where.values,
      });
      return row?.count ?? 0n;
    },
  };
}

interface PageRow {
  readonly json: string;
  readonly key: string;
  readonly position: (string | null)[];
  readonly count: bigint | null;
}

async function readPage(
  db: Db,
  table: ResourceTable,
  type: EntityType,
  plan: CollectionPlan,
): Promise<EntityPage> {
  const filter = filterSql(plan.filter);
  const { items, values } = seekItems(plan.orderBy, { alias, firstParameter: filter.values.length + 1 });
  const bound: unknown[] = [...filter.values, ...values];
  const seek =
    plan.after === undefined ? { text: 'true', values: [] } : seekSql(items, plan.after, bound.length + 1);
  bound.push(...seek.values, plan.limit + 1, plan.skip);
  const count = plan.count
    ? `(select count(*) from ${table.quoted} ${alias} where ${filter.text})`
    : 'null::bigint';
  // The count's row is there even when the page is empty.
  const rows = await db.query<PageRow | { json: null; count: bigint | null }>({
    text: `
select c.count, p.json, p.key, p.position
from (select ${count} as count) c
left join lateral (
  select ${rowJson(type, plan)} as json, ${keyText(table, alias)} as key,
    array[${items.map(({ sql }) => `(${sql})::text`).join(', ')}]::text[] as position
  from ${table.quoted} ${alias}
  where ${filter.text} and ${seek.text}
  order by ${orderSql(items)}
  limit $${bound.length - 1}::bigint offset $${bound.length}::bigint
) p on true`,
    values: bound,
  });
  const found = rows.filter((row): row is PageRow => row.json !== null);
  const total = rows[0]?.count;
  return {
    rows: found.slice(0, plan.limit).map(({ json, key, position }) => ({ json, key: [key], position })),
    more: found.length > plan.limit,
    ...(total == null ? {} : { count: total }),
  };
}

async function readOne(
  db: Db,
  table: ResourceTable,
  type: EntityType,
  [key = '']: readonly string[],
  plan: ShapePlan,
): Promise<EntityRow | undefined> {
  const [row] = await db.query<{ json: string; key: string }>({
    text: `
select ${rowJson(type, plan)} as json, ${keyText(table, alias)} as key
from ${table.quoted} ${alias}
where ${matchKey(table, alias, '$1::text')}
limit 1`,
    values: [key],
  });
  return row === undefined ? undefined : { json: row.json, key: [row.key], position: [] };
}

/** The selected properties as one JSON text. A subquery and not json_build_object, which takes 50 members at most. */
function rowJson(type: EntityType, plan: ShapePlan): string {
  const properties = type.properties.filter(({ name }) => plan.select?.includes(name) ?? true);
  const columns = properties.map(
    property => `${wireSql(property, alias, plan.ieee754)} as ${quoteIdentifier(property.name)}`,
  );
  const row = `(select row_to_json(r) from (select ${columns.join(', ')}) r)`;
  return plan.omitNulls ? `json_strip_nulls(${row})::text` : `${row}::text`;
}

function filterSql(filter: TypedValue | undefined): { text: string; values: readonly unknown[] } {
  return filter === undefined ? { text: 'true', values: [] } : filterToSql(filter, { alias });
}
