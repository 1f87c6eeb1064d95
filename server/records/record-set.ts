import { keyText, matchKey } from '../base/catalog/index.ts';
import type {
  CollectionPlan,
  EntityPage,
  EntityRow,
  EntitySet,
  EntityWriter,
  ShapePlan,
} from '../edm/entity-set.ts';
import { filterToSql, orderSql, seekItems, seekSql, type TypedValue } from '../edm/index.ts';
import type { Allowed, RowsMet } from '../visibility/index.ts';
import { newKeyOf } from './new-key.ts';
import { readRelated } from './related.ts';
import { etagOf, etagSql } from './row-etag.ts';
import { rowJson } from './row-json.ts';
import {
  expressionOptions,
  quotedAlias,
  type RecordContext,
  type RecordResource,
  rowAlias,
  ruleVersion,
  visibleSql,
} from './schema.ts';
import { type StatementWriter, startStatement } from './statement.ts';
import { namingMissing } from './table-drift.ts';
import { recordWriter } from './writer.ts';

/** What a read found, and the rules it was found under. */
interface UnderRules<T> {
  readonly ruleVersion: number;
  readonly result: T;
}

/** The records of one resource, straight from the provider's table. */
export function recordSet(context: RecordContext, resource: RecordResource): EntitySet {
  const { policy, db } = context;
  const { table, type } = resource;
  const all = [...context.resources.values()];
  const write = writerOf(context, resource);
  const naming = <T>(work: () => Promise<T>) => namingMissing(db, all, work);
  return {
    name: table.config.name,
    type,
    writable: write !== undefined,
    readPage: (plan, viewer) =>
      naming(() => policy.read(viewer, allowed => readPage(context, resource, plan, allowed))),
    readOne: ([key = ''], plan, viewer) =>
      naming(() => policy.read(viewer, allowed => readOne(context, resource, key, plan, allowed))),
    count: (filter, viewer) =>
      naming(() => policy.read(viewer, allowed => countRows(context, resource, filter, allowed))),
    related: ([key = ''], navigation, viewer) =>
      naming(() => policy.read(viewer, allowed => readRelated(context, resource, key, navigation, allowed))),
    ...(write === undefined ? {} : { write }),
  };
}

/** Present for resources that the configuration marks as writable. */
function writerOf(context: RecordContext, resource: RecordResource): EntityWriter | undefined {
  const { writable = false } = resource.table.config;
  if (writable === false) return undefined;
  const keys = writable === true ? 'snowflake' : (writable.keys ?? 'snowflake');
  return recordWriter(context, resource, newKeyOf(resource.table.key, keys, context.machineId));
}

async function countRows(
  { db }: RecordContext,
  { table }: RecordResource,
  filter: TypedValue | undefined,
  allowed: Allowed,
): Promise<UnderRules<bigint>> {
  const w = startStatement();
  const where = matching(table.config.name, filter, allowed, w, 'all');
  const [row] = await db.query<{ count: bigint; version: number }>({
    text: `
select count(*) as count, ${ruleVersion} as version
from ${table.quoted} ${rowAlias}
where ${where}`,
    values: w.values,
  });
  return { ruleVersion: row?.version ?? 0, result: row?.count ?? 0n };
}

/** The condition that a row is visible and passes the filter. */
function matching(
  name: string,
  filter: TypedValue | undefined,
  allowed: Allowed,
  w: StatementWriter,
  met: RowsMet,
): string {
  const visible = visibleSql(allowed, name, quotedAlias, w, met);
  if (filter === undefined) return visible;
  const text = w.include(first => filterToSql(filter, expressionOptions(allowed, rowAlias, first)));
  return `${text} and ${visible}`;
}

interface PageRow {
  readonly json: string;
  readonly key: string;
  readonly etag: string;
  readonly position: (string | null)[];
  readonly count: bigint | null;
  readonly version: number;
}

async function readPage(
  context: RecordContext,
  resource: RecordResource,
  plan: CollectionPlan,
  allowed: Allowed,
): Promise<UnderRules<EntityPage>> {
  const { table } = resource;
  const w = startStatement();
  const where = matching(table.config.name, plan.filter, allowed, w, 'few');
  let items: ReturnType<typeof seekItems>['items'] = [];
  w.include(first => {
    const order = seekItems(plan.orderBy, expressionOptions(allowed, rowAlias, first));
    items = order.items;
    return { text: '', values: order.values };
  });
  const { after } = plan;
  const seek = after === undefined ? 'true' : w.include(first => seekSql(items, after, first));
  const json = rowJson(resource, plan, quotedAlias, { context, allowed, statement: w });
  const count = plan.count
    ? `(select count(*) from ${table.quoted} ${rowAlias} where ${matching(table.config.name, plan.filter, allowed, w, 'all')})`
    : 'null::bigint';
  const [limit, skip] = [w.bind(plan.limit + 1), w.bind(plan.skip)];
  // The count's row is there even when the page is empty.
  const rows = await context.db.query<PageRow | { json: null; count: bigint | null; version: number }>({
    text: `
select c.count, c.version, p.json, p.key, p.etag, p.position
from (select ${count} as count, ${ruleVersion} as version) c
left join lateral (
  select ${json} as json, ${keyText(table, quotedAlias)} as key, ${etagSql(table, quotedAlias)} as etag,
    array[${items.map(({ sql }) => `(${sql})::text`).join(', ')}]::text[] as position
  from ${table.quoted} ${rowAlias}
  where ${where} and ${seek}
  ${items.length === 0 ? '' : `order by ${orderSql(items)}`}
  limit ${limit}::bigint offset ${skip}::bigint
) p on true`,
    values: w.values,
  });
  const found = rows.filter((row): row is PageRow => row.json !== null);
  const total = rows[0]?.count;
  return {
    ruleVersion: rows[0]?.version ?? 0,
    result: {
      rows: found
        .slice(0, plan.limit)
        .map(({ json, key, position, etag }) => ({ json, key: [key], position, etag: etagOf(etag) })),
      more: found.length > plan.limit,
      ...(total == null ? {} : { count: total }),
    },
  };
}

/** Unknown, gone and hidden run the same one statement and leave it the same way (SILENT). */
async function readOne(
  context: RecordContext,
  resource: RecordResource,
  key: string,
  plan: ShapePlan,
  allowed: Allowed,
): Promise<UnderRules<EntityRow | undefined>> {
  const { table } = resource;
  const w = startStatement();
  const match = matchKey(table, quotedAlias, `${w.bind(key)}::text`);
  const visible = visibleSql(allowed, table.config.name, quotedAlias, w);
  const json = rowJson(resource, plan, quotedAlias, { context, allowed, statement: w });
  const [row] = await context.db.query<{
    version: number;
    json: string | null;
    key: string | null;
    etag: string;
  }>({
    text: `
select c.version, r.json, r.key, r.etag
from (select ${ruleVersion} as version) c
left join lateral (
  select ${json} as json, ${keyText(table, quotedAlias)} as key, ${etagSql(table, quotedAlias)} as etag
  from ${table.quoted} ${rowAlias}
  where ${match} and ${visible}
  limit 1
) r on true`,
    values: w.values,
  });
  const found =
    row?.json != null && row.key !== null
      ? { json: row.json, key: [row.key], position: [], etag: etagOf(row.etag) }
      : undefined;
  return { ruleVersion: row?.version ?? 0, result: found };
}
