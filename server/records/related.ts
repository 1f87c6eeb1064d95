import { matchKey } from '../base/catalog/index.ts';
import {
  type ColumnSql,
  castText,
  columnSql,
  isNavigation,
  mapColumn,
  primitive,
  type ScalarType,
  type TypedValue,
} from '../edm/index.ts';
import type { Allowed } from '../visibility/index.ts';
import {
  quotedAlias,
  type RecordContext,
  type RecordResource,
  rowAlias,
  ruleVersion,
  visibleSql,
} from './schema.ts';
import { startStatement } from './statement.ts';

/** No row fulfils it: the condition of a relation whose own column is null. */
const noRow: TypedValue = {
  kind: 'literal',
  type: primitive('Edm.Boolean'),
  value: { kind: 'boolean', value: false },
  at: 0,
};

/**
 * The condition on the target of a relation that its rows belong to the record with this key; undefined when the viewer
 * cannot see the record.
 */
export async function readRelated(
  { db, resources }: RecordContext,
  { table, type }: RecordResource,
  key: string,
  name: string,
  allowed: Allowed,
): Promise<{ ruleVersion: number; result: TypedValue | undefined }> {
  const navigation = type.members.get(name);
  if (navigation === undefined || !isNavigation(navigation))
    throw new Error(`${type.name} has no relation ${name}`);
  const [pair] = navigation.join;
  if (pair === undefined) throw new Error(`the relation ${name} joins nothing`);
  const w = startStatement();
  const match = matchKey(table, quotedAlias, `${w.bind(key)}::text`);
  const visible = visibleSql(allowed, table.config.name, quotedAlias, w);
  const [row] = await db.query<{ version: number; found: boolean | null; value: string | null }>({
    text: `
select c.version, r.found, r.value
from (select ${ruleVersion} as version) c
left join lateral (
  select true as found, (${columnSql(pair.own, quotedAlias)})::text as value
  from ${table.quoted} ${rowAlias}
  where ${match} and ${visible}
  limit 1
) r on true`,
    values: w.values,
  });
  const result =
    row?.found == null
      ? undefined
      : row.value === null
        ? noRow
        : equals(resources.get(navigation.target), pair.target, row.value);
  return { ruleVersion: row?.version ?? 0, result };
}

/** The comparison of the joined column with the value found, in the column's own type so that its index serves. */
function equals(target: RecordResource | undefined, column: ColumnSql, value: string): TypedValue {
  const known = target?.table.columns.find(({ name }) => name === column);
  const mapped = known === undefined ? undefined : mapColumn(known);
  const type: ScalarType = mapped?.type.kind === 'primitive' ? mapped.type : primitive('Edm.String');
  const property = { name: 'join', type, nullable: true, column: mapped?.column ?? column };
  const left: TypedValue = {
    kind: 'field',
    origin: { kind: 'it' },
    via: [],
    property,
    json: [],
    type,
    nullable: true,
    at: 0,
  };
  return { kind: 'compare', op: 'eq', left, right: castText(value, type, 0), at: 0 };
}
