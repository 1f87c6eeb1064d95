import { matchKey } from '../base/catalog/index.ts';
import {
  bindFilter,
  columnSql,
  isNavigation,
  mapColumn,
  parseExpression,
  type Property,
  primitive,
  type TypedValue,
} from '../edm/index.ts';
import type { Allowed } from '../visibility/index.ts';
import { quotedAlias, type RecordContext, type RecordResource, rowAlias, ruleVersion, visibleSql } from './schema.ts';
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
  { db }: RecordContext,
  { table, type }: RecordResource,
  key: string,
  name: string,
  allowed: Allowed,
): Promise<{ ruleVersion: number; result: TypedValue | undefined }> {
  const navigation = type.members.get(name);
  if (navigation === undefined || !isNavigation(navigation)) throw new Error(`${type.name} has no relation ${name}`);
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
  const result = row?.found == null ? undefined : row.value === null ? noRow : equals(pair.target, row.value);
  return { ruleVersion: row?.version ?? 0, result };
}
