import { keyText, matchKey, type ResourceTable } from '../base/catalog/index.ts';
import { type Db, quoteIdentifier } from '../base/db/index.ts';
import type { CollectionPlan, EntityPage, EntityRow, EntitySet, ShapePlan } from '../edm/entity-set.ts';
import {
  type EntityType,
  filterToSql,
  orderSql,
  type SqlFragment,
  seekItems,
  seekSql,
  type TypedValue,
} from '../edm/index.ts';
import type { VisibilityPolicy } from '../visibility/index.ts';

import { wireSql } from './wire-sql.ts';

/** The alias of the provider's table in every statement. */
const alias = 't';

/** The records of one resource, straight from the provider's table. */
export function recordSet(
  db: Db,
  policy: VisibilityPolicy,
  table: ResourceTable,
  type: EntityType,
): EntitySet {
  const { name } = table.config;
  return {
    name,
    type,
    writable: false,
    readPage: (plan, viewer) =>
      policy.read(viewer, ({ records }) => readPage(db, table, type, plan, n => records(name, n))),
    readOne: (key, plan, viewer) =>
      policy.read(viewer, ({ records }) => readOne(db, table, type, key, plan, records(name, 2))),
    count: (filter, viewer) =>
      policy.read(viewer, async ({ records }) => {
        const where = filterSql(filter);
        const visible = records(name, where.values.length + 1);
        const [row] = await db.query<{ count: bigint; version: number }>({
          text: `
select count(*) as count, ${ruleVersion} as version
from ${table.quoted} ${alias}
where ${where.text} and ${visible.text}`,
          values: [...where.values, ...visible.values],
        });
        return { ruleVersion: row?.version ?? 0, result: row?.count ?? 0n };
      }),
  };
}

/** The rules in the statement's own snapshot: the policy compares them with those that it was made for. */
const ruleVersion = '(select rule_version from pulsefeed.log_head)';

/** What a read found, and the rules it was found under. */
interface UnderRules<T> {
  readonly ruleVersion: number;
  readonly result: T;
}

interface PageRow {
  readonly json: string;
  readonly key: string;
  readonly position: (string | null)[];
  readonly count: bigint | null;
  readonly version: number;
}

async function readPage(
  db: Db,
  table: ResourceTable,
  type: EntityType,
  plan: CollectionPlan,
  visibleFrom: (firstParameter: number) => SqlFragment,
): Promise<UnderRules<EntityPage>> {
  const filter = filterSql(plan.filter);
  const visible = visibleFrom(filter.values.length + 1);
  const matching = `${filter.text} and ${visible.text}`;
  const bound: unknown[] = [...filter.values, ...visible.values];
  const { items, values } = seekItems(plan.orderBy, { alias, firstParameter: bound.length + 1 });
  bound.push(...values);
  const seek =
    plan.after === undefined ? { text: 'true', values: [] } : seekSql(items, plan.after, bound.length + 1);
  bound.push(...seek.values, plan.limit + 1, plan.skip);
  const count = plan.count
    ? `(select count(*) from ${table.quoted} ${alias} where ${matching})`
    : 'null::bigint';
  // The count's row is there even when the page is empty.
  const rows = await db.query<PageRow | { json: null; count: bigint | null; version: number }>({
    text: `
select c.count, c.version, p.json, p.key, p.position
from (select ${count} as count, ${ruleVersion} as version) c
left join lateral (
  select ${rowJson(type, plan)} as json, ${keyText(table, alias)} as key,
    array[${items.map(({ sql }) => `(${sql})::text`).join(', ')}]::text[] as position
  from ${table.quoted} ${alias}
  where ${matching} and ${seek.text}
  order by ${orderSql(items)}
  limit $${bound.length - 1}::bigint offset $${bound.length}::bigint
) p on true`,
    values: bound,
  });
  const found = rows.filter((row): row is PageRow => row.json !== null);
  const total = rows[0]?.count;
  return {
    ruleVersion: rows[0]?.version ?? 0,
    result: {
      rows: found.slice(0, plan.limit).map(({ json, key, position }) => ({ json, key: [key], position })),
      more: found.length > plan.limit,
      ...(total == null ? {} : { count: total }),
    },
  };
}

/** Unknown, gone and hidden run the same one statement and leave it the same way (SILENT). */
async function readOne(
  db: Db,
  table: ResourceTable,
  type: EntityType,
  [key = '']: readonly string[],
  plan: ShapePlan,
  visible: SqlFragment,
): Promise<UnderRules<EntityRow | undefined>> {
  const [row] = await db.query<{ version: number; json: string | null; key: string | null }>({
    text: `
select c.version, r.json, r.key
from (select ${ruleVersion} as version) c
left join lateral (
  select ${rowJson(type, plan)} as json, ${keyText(table, alias)} as key
  from ${table.quoted} ${alias}
  where ${matchKey(table, alias, '$1::text')} and ${visible.text}
  limit 1
) r on true`,
    values: [key, ...visible.values],
  });
  const found =
    row?.json != null && row.key !== null ? { json: row.json, key: [row.key], position: [] } : undefined;
  return { ruleVersion: row?.version ?? 0, result: found };
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

function filterSql(filter: TypedValue | undefined): SqlFragment {
  return filter === undefined ? { text: 'true', values: [] } : filterToSql(filter, { alias });
}
