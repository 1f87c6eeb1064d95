import { matchKey, type ResourceTable } from '../base/catalog/index.ts';
import type { Db } from '../base/db/index.ts';
import type { CollectionPlan, EntityPage, EntityRow, EntitySet, ShapePlan } from '../edm/entity-set.ts';
import {
  type FieldNames,
  fieldNames,
  filterToSql,
  mapColumn,
  orderSql,
  seekItems,
  seekSql,
  type TypedValue,
} from '../edm/index.ts';
import type { Allowed, VisibilityPolicy } from '../visibility/index.ts';
import { historyKeyParts, historyKeySql, historyName, historyType, inLogOrder } from './history-type.ts';
import { propertiesJson } from './row-json.ts';
import { expressionOptions, quotedAlias, rowAlias, ruleVersion, visibleSql } from './schema.ts';
import { type StatementWriter, startStatement } from './statement.ts';

/** What reading the history works with. */
interface HistoryContext {
  readonly db: Db;
  readonly tables: readonly ResourceTable[];
  /** `Resource.column` -> the name that the field is served under; what is hidden is not in it. */
  readonly fields: string;
  /** `Resource.column` of fields that are points in time. */
  readonly instants: readonly string[];
}

/**
 * HistoryTransactional, when a resource with a table has `"history": true`; else nothing. A row is served once it has
 * the number of its event, to those who saw the record before and after, as long as they see it; hidden fields never.
 */
export function historySets(db: Db, policy: VisibilityPolicy, tables: readonly ResourceTable[]): EntitySet[] {
  const kept = tables.filter(({ config }) => config.history === true);
  if (kept.length === 0) return [];
  const served = kept.map(table => ({ table, ...fieldNames(table) }));
  const context: HistoryContext = {
    db,
    tables: kept,
    fields: JSON.stringify(Object.fromEntries(served.flatMap(servedFields))),
    instants: served.flatMap(instantFields),
  };
  const set: EntitySet = {
    name: historyName,
    type: historyType,
    writable: false,
    readPage: (plan, viewer) => policy.read(viewer, allowed => readPage(context, plan, allowed)),
    readOne: ([key = ''], plan, viewer) =>
      policy.read(viewer, allowed => readOne(context, key, plan, allowed)),
    count: (filter, viewer) => policy.read(viewer, allowed => countRows(context, filter, allowed)),
  };
  return [set];
}

interface ServedTable extends FieldNames {
  readonly table: ResourceTable;
}

/** A ResourceName has no dot in it: no two fields share an entry. */
function servedFields({ table, served }: ServedTable): [string, string][] {
  return served.map(({ name, column }) => [`${table.config.name}.${column.name}`, name]);
}

function instantFields({ table, served }: ServedTable): string[] {
  return served
    .filter(({ column }) => {
      const { type } = mapColumn(column);
      return type.kind === 'primitive' && type.name === 'Edm.DateTimeOffset';
    })
    .map(({ column }) => `${table.config.name}.${column.name}`);
}

/**
 * The rows that the viewer may read, as a relation with the columns of `historyType`. `offset 0` keeps the planner from
 * reading the whole table of the records into a hash for one page.
 */
function visibleRows(context: HistoryContext, allowed: Allowed, w: StatementWriter): string {
  const field = `h.resource || '.' || h.field`;
  const instants = w.bind(context.instants);
  // The trigger writes times in UTC with the offset written out, or without one; records are served with a Z.
  const value = (column: string) =>
    `case when ${field} = any (${instants}::text[]) then regexp_replace(${column}, '([+]00:00)?$', 'Z') else ${column} end`;
  const alternatives = context.tables.map(table => {
    const { name } = table.config;
    const alias = w.alias();
    const match = matchKey(table, alias, 'h.key');
    return `when '${name}' then exists (
        select from ${table.quoted} ${alias} where ${match} and ${visibleSql(allowed, name, alias, w)} offset 0)`;
  });
  return `(
    select h.id, h.seq, h.resource, h.key, ${historyKeySql('h')} as history_key, f.name as field_name,
      h.resource || '.' || f.name as field_key, ${value('h.previous_value')} as previous_value,
      ${value('h.new_value')} as new_value, h.changed_by, h.at
    from pulsefeed.history h
    cross join lateral (select ${w.bind(context.fields)}::jsonb ->> (${field}) as name) f
    where h.seq is not null and f.name is not null${toldSql(allowed, w)}
      and case h.resource ${alternatives.join(' ')} else false end
  )`;
}

/** What a record was or became while the viewer was not shown it stays unknown. */
function toldSql(allowed: Allowed, w: StatementWriter): string {
  let held: string | undefined;
  w.include(first => {
    const fragment = allowed.held(first);
    held = fragment?.text;
    return { text: '', values: [...(fragment?.values ?? [])] as string[] };
  });
  if (held === undefined) return '';
  return ` and h.feeds && array(${held})`;
}

function matching(filter: TypedValue | undefined, allowed: Allowed, w: StatementWriter): string {
  if (filter === undefined) return 'true';
  return w.include(first => filterToSql(filter, expressionOptions(allowed, rowAlias, first)));
}

interface UnderRules<T> {
  readonly ruleVersion: number;
  readonly result: T;
}

async function countRows(
  context: HistoryContext,
  filter: TypedValue | undefined,
  allowed: Allowed,
): Promise<UnderRules<bigint>> {
  const w = startStatement();
  const rows = visibleRows(context, allowed, w);
  const where = matching(filter, allowed, w);
  const [row] = await context.db.query<{ count: bigint; version: number }>({
    text: `select count(*) as count, ${ruleVersion} as version from ${rows} ${rowAlias} where ${where}`,
    values: w.values,
  });
  return { ruleVersion: row?.version ?? 0, result: row?.count ?? 0n };
}

interface FoundRow {
  readonly version: number;
  readonly count: bigint | null;
  readonly json: string | null;
  readonly key: string;
  readonly position: (string | null)[];
}

async function readPage(
  context: HistoryContext,
  plan: CollectionPlan,
  allowed: Allowed,
): Promise<UnderRules<EntityPage>> {
  const w = startStatement();
  const rows = visibleRows(context, allowed, w);
  const where = matching(plan.filter, allowed, w);
  let items: ReturnType<typeof seekItems>['items'] = [];
  w.include(first => {
    const order = seekItems(inLogOrder(plan.orderBy), expressionOptions(allowed, rowAlias, first));
    items = order.items;
    return { text: '', values: order.values };
  });
  const { after } = plan;
  const seek = after === undefined ? 'true' : w.include(first => seekSql(items, after, first));
  const count = plan.count ? `(select count(*) from ${rows} ${rowAlias} where ${where})` : 'null::bigint';
  const [limit, skip] = [w.bind(plan.limit + 1), w.bind(plan.skip)];
  const found = await context.db.query<FoundRow>({
    text: `
select c.count, c.version, p.json, p.key, p.position
from (select ${count} as count, ${ruleVersion} as version) c
left join lateral (
  select ${propertiesJson(historyType, plan, quotedAlias)} as json, ${quotedAlias}.history_key as key,
    array[${items.map(({ sql }) => `(${sql})::text`).join(', ')}]::text[] as position
  from ${rows} ${rowAlias}
  where ${where} and ${seek}
  order by ${orderSql(items)}
  limit ${limit}::bigint offset ${skip}::bigint
) p on true`,
    values: w.values,
  });
  const total = found[0]?.count;
  const page = found.flatMap(entityRow);
  return {
    ruleVersion: found[0]?.version ?? 0,
    result: {
      rows: page.slice(0, plan.limit),
      more: page.length > plan.limit,
      ...(total == null ? {} : { count: total }),
    },
  };
}

/** Unknown, gone and hidden run the same one statement and leave it the same way (SILENT). */
async function readOne(
  context: HistoryContext,
  key: string,
  plan: ShapePlan,
  allowed: Allowed,
): Promise<UnderRules<EntityRow | undefined>> {
  const w = startStatement();
  const { seq, id } = historyKeyParts(key) ?? { seq: '0', id: '0' };
  const rows = visibleRows(context, allowed, w);
  const found = await context.db.query<FoundRow>({
    text: `
select null::bigint as count, c.version, p.json, p.key, '{}'::text[] as position
from (select ${ruleVersion} as version) c
left join lateral (
  select ${propertiesJson(historyType, plan, quotedAlias)} as json, ${quotedAlias}.history_key as key
  from ${rows} ${rowAlias}
  where ${quotedAlias}.id = ${w.bind(id)}::bigint and ${quotedAlias}.seq = ${w.bind(seq)}::bigint
) p on true`,
    values: w.values,
  });
  return { ruleVersion: found[0]?.version ?? 0, result: found.flatMap(entityRow)[0] };
}

/** A row of the past never changes, and its tag is its key. */
function entityRow({ json, key, position }: FoundRow): EntityRow[] {
  return json === null ? [] : [{ json, key: [key], position, etag: `W/"${key}"` }];
}
