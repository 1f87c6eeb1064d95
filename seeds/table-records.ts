import { keyText, type ResourceTable } from '../server/base/catalog/index.ts';
import { type ResourceConfig, rankResources } from '../server/base/config/index.ts';
import { type Queryable, quoteIdentifier } from '../server/base/db/index.ts';
import { maxKeyLength } from '../server/log/index.ts';
import type { SeedRecords } from '../server/log/seed.ts';

/** What a source of records holds before anything is left out. */
export interface SourceCount {
  readonly resource: string;
  readonly level: number;
  readonly rank: number;
  /** All rows, usable or not. */
  readonly rows: number;
  /** Rows whose key is null or longer than the feed carries. */
  readonly unusable: number;
  /** Rows whose key an other row has too; the one modified last stands for all. */
  readonly duplicates: number;
}

/** Where a resource stands in the order of seeding; one that is not configured has no parents and comes last. */
export function seedPlace(
  resources: readonly ResourceConfig[],
  name: string,
): { readonly level: number; readonly rank: number } {
  const { level, rank } = rankResources(resources);
  return { level: level.get(name) ?? 0, rank: rank.get(name) ?? resources.length };
}

/** The records of a configured table, and how many there are. */
export async function tableRecords(
  db: Queryable,
  table: ResourceTable,
  place: { readonly level: number; readonly rank: number },
): Promise<{ records: SeedRecords; count: SourceCount; note?: string }> {
  const resource = table.config.name;
  const { sql: modified, note } = modifiedTime(table);
  const unique = await keyIsUnique(db, table);
  const key = keyText(table, 't');
  const usable = isUsable(table);
  const select = unique
    ? `select ${key} as key, ${modified} as modified from ${table.quoted} t where ${usable}`
    : `select ${key} as key, max(${modified}) as modified from ${table.quoted} t where ${usable} group by 1`;
  const distinct = unique ? 'count(*)' : `count(distinct ${key})`;
  const [row] = await db.query<{ rows: number; usable: number; keys: number }>({
    text: `
select count(*)::int as rows, count(*) filter (where ${usable})::int as usable,
  (${distinct} filter (where ${usable}))::int as keys
from ${table.quoted} t`,
  });
  const { rows, usable: usableRows, keys } = row ?? { rows: 0, usable: 0, keys: 0 };
  return {
    records: { resource, ...place, select },
    count: { resource, ...place, rows, unusable: rows - usableRows, duplicates: usableRows - keys },
    ...(note === undefined ? {} : { note }),
  };
}

/** The time of the last change as timestamptz, so that tables with different types have one order. */
function modifiedTime(table: ResourceTable): { sql: string; note?: string } {
  const { modified, name } = table.config;
  if (modified === undefined) return { sql: 'null::timestamptz' };
  const column = table.columns.find(candidate => candidate.name === modified);
  const sql = `t.${quoteIdentifier(modified)}`;
  switch (column?.baseType) {
    case 'timestamptz':
      return { sql };
    case 'timestamp':
      return { sql: `${sql} at time zone 'UTC'` };
    case 'date':
      return { sql: `${sql}::timestamp at time zone 'UTC'` };
    default:
      return {
        sql: 'null::timestamptz',
        note: `${name}: ${modified} is of type ${column?.type ?? 'unknown'}, not a time; its records are ordered by key alone`,
      };
  }
}

/** Types whose text is never longer than the feed carries. */
const shortTypes = new Set(['int2', 'int4', 'int8', 'uuid']);

function isUsable(table: ResourceTable): string {
  const { key } = table;
  const short =
    shortTypes.has(key.baseType) || (key.maxLength !== undefined && key.maxLength <= maxKeyLength);
  const conditions = [
    ...(key.notNull ? [] : [`t.${quoteIdentifier(key.name)} is not null`]),
    ...(short ? [] : [`length(${keyText(table, 't')}) <= ${maxKeyLength}`]),
  ];
  return conditions.length === 0 ? 'true' : conditions.join(' and ');
}

/** True when an index sees to it that no key occurs twice; a million keys need not be grouped then. */
async function keyIsUnique(db: Queryable, table: ResourceTable): Promise<boolean> {
  const [row] = await db.query<{ found: boolean }>({
    text: `
select exists (
  select from pg_catalog.pg_index i
  join pg_catalog.pg_attribute a on a.attrelid = i.indrelid and a.attnum = i.indkey[0]
  where i.indrelid = to_regclass($1) and i.indisunique and i.indisvalid and i.indpred is null
    and i.indnkeyatts = 1 and a.attname = $2
) as found`,
    values: [table.quoted, table.key.name],
  });
  return row?.found === true;
}
