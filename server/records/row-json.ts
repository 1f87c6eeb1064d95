import { keyText, type ResourceTable } from '../base/catalog/index.ts';
import { quoteIdentifier } from '../base/db/index.ts';
import type { ExpandPlan, ShapePlan } from '../edm/entity-set.ts';
import {
  columnSql,
  type EntityType,
  filterToSql,
  isNavigation,
  type NavigationProperty,
  orderSql,
  seekItems,
} from '../edm/index.ts';
import type { Allowed } from '../visibility/index.ts';
import { expressionOptions, type RecordContext, type RecordResource, visibleSql } from './schema.ts';
import type { StatementWriter } from './statement.ts';
import { wireSql } from './wire-sql.ts';

/** What writing rows as JSON needs beside the row. */
export interface RowWriter {
  readonly context: Pick<RecordContext, 'resources'>;
  readonly allowed: Allowed;
  readonly statement: StatementWriter;
}

/**
 * SQL for one row as the text of a JSON object: the selected properties, then the expanded relations. Related rows are
 * read in the same statement and pass the same predicate as any other (SERVE). A subquery makes the object and not
 * json_build_object, which takes 50 members at most.
 */
export function rowJson(
  resource: RecordResource,
  shape: ShapePlan,
  alias: string,
  writer: RowWriter,
): string {
  const base = propertiesJson(resource.type, shape, alias);
  const [first, ...rest] = shape.expand.map(plan => relationJson(resource, plan, shape, alias, writer));
  if (first === undefined) return base;
  // Every part begins with its comma; a row whose properties were all null has none before it.
  const members = [first, ...rest].join(' || ');
  return `(select case when b.j = '{}' and e.m <> '' then '{' || substr(e.m, 2) else left(b.j, -1) || e.m end || '}'
    from (select ${base} as j) b cross join lateral (select ${members} as m) e)`;
}

/** The same for the properties alone. */
export function propertiesJson(
  type: EntityType,
  shape: Pick<ShapePlan, 'select' | 'ieee754' | 'omitNulls'>,
  alias: string,
): string {
  const properties = type.properties.filter(({ name }) => shape.select?.includes(name) ?? true);
  if (properties.length === 0) return `'{}'`;
  const columns = properties.map(
    property => `${wireSql(property, alias, shape.ieee754)} as ${quoteIdentifier(property.name)}`,
  );
  const row = `(select row_to_json(r) from (select ${columns.join(', ')}) r)`;
  return shape.omitNulls ? `json_strip_nulls(${row})::text` : `${row}::text`;
}

/** SQL for `,"Media":[...]` with its count and link, or `,"Office":{...}`; a text, never null. */
function relationJson(
  parent: RecordResource,
  plan: ExpandPlan,
  shape: ShapePlan,
  parentAlias: string,
  writer: RowWriter,
): string {
  const navigation = parent.type.members.get(plan.navigation);
  const target =
    navigation === undefined || !isNavigation(navigation)
      ? undefined
      : writer.context.resources.get(navigation.target);
  if (navigation === undefined || !isNavigation(navigation) || target === undefined) {
    throw new Error(`${parent.type.name} has no relation ${plan.navigation}`);
  }
  const rows = relatedRows(navigation, target, plan, parentAlias, writer);
  const member = `',"${plan.navigation}":'`;
  if (!navigation.collection) {
    const one = `(select ${rows.json} from ${rows.from} where ${rows.where} limit 1)`;
    return shape.omitNulls ? `coalesce(${member} || ${one}, '')` : `${member} || coalesce(${one}, 'null')`;
  }
  const link = nextLinkSql(parent, plan, parentAlias, writer);
  const last = plan.skip + plan.limit;
  const page = `(select '[' || coalesce(string_agg(x.j, ',' order by x.n) filter (where x.n <= ${last}), '') || ']'
      || case when count(*) > ${plan.limit} then ${link} else '' end
    from (
      select ${rows.json} as j, row_number() over (order by ${rows.order}) as n
      from ${rows.from} where ${rows.where}
      order by n limit ${plan.limit + 1} offset ${plan.skip}
    ) x)`;
  const total = `(select count(*) from ${rows.from} where ${rows.where})`;
  const digits = plan.ieee754 ? `'"' || ${total} || '"'` : total;
  const count = plan.count ? `',"${plan.navigation}${plan.prefix}count":' || ${digits} || ` : '';
  return `${count}${member} || ${page}`;
}

interface RelatedRows {
  readonly json: string;
  readonly from: string;
  readonly where: string;
  readonly order: string;
}

function relatedRows(
  navigation: NavigationProperty,
  target: RecordResource,
  plan: ExpandPlan,
  parentAlias: string,
  writer: RowWriter,
): RelatedRows {
  const { statement, allowed } = writer;
  const alias = statement.alias();
  const plainAlias = alias.slice(1, -1);
  const join = navigation.join.map(
    pair => `${columnSql(pair.target, alias)} = ${columnSql(pair.own, parentAlias)}`,
  );
  const visible = visibleSql(allowed, target.table.config.name, alias, statement);
  const { filter } = plan;
  const filtered =
    filter === undefined
      ? []
      : [statement.include(first => filterToSql(filter, expressionOptions(allowed, plainAlias, first)))];
  let order = '';
  statement.include(first => {
    const { items, values } = seekItems(plan.orderBy, expressionOptions(allowed, plainAlias, first));
    order = orderSql(items);
    return { text: order, values };
  });
  return {
    json: rowJson(target, plan, alias, writer),
    from: `${target.table.quoted} ${alias}`,
    where: [...join, visible, ...filtered].join(' and '),
    order,
  };
}

/**
 * SQL for `,"Media@odata.nextLink":"..."`: the rest of a relation that has more rows than one answer may hold. The key
 * is percent-encoded byte by byte, which any URL may be.
 */
function nextLinkSql(
  parent: RecordResource,
  plan: ExpandPlan,
  alias: string,
  { statement }: RowWriter,
): string {
  if (plan.next === undefined) return `''`;
  const json = (text: string) => `${statement.bind(JSON.stringify(text).slice(1, -1))}::text`;
  const start = json(`${plan.root}/${parent.type.name}(`);
  const end = json(`)/${plan.navigation}?${plan.next}`);
  const key = keySql(parent.table, parent.type, alias);
  return `',"${plan.navigation}${plan.prefix}nextLink":"' || ${start} || ${key} || ${end} || '"'`;
}

function keySql(table: ResourceTable, type: EntityType, alias: string): string {
  const text = `${keyText(table, alias)}`;
  const property = type.properties.find(({ name }) => name === type.key[0]);
  if (property?.type.kind !== 'primitive' || property.type.name !== 'Edm.String') return `(${text})`;
  const doubled = `replace(${text}, '''', '''''')`;
  const encoded = `regexp_replace(upper(encode(convert_to(${doubled}, 'UTF8'), 'hex')), '(..)', '%\\1', 'g')`;
  return `'%27' || ${encoded} || '%27'`;
}
