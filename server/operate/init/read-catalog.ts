import { type Queryable, quoteIdentifier } from '../../base/db/index.ts';

/** A table that could hold a resource's records. */
export interface CandidateTable {
  readonly schema: string;
  readonly name: string;
  /** r table, p partitioned, f foreign, v view, m materialized view. */
  readonly kind: string;
  /** The planner's estimate; negative when unknown. */
  readonly rows: number;
  readonly columns: readonly CandidateColumn[];
  /** Columns of the primary key. */
  readonly primaryKey: readonly string[];
  /** Columns that a unique index covers alone. */
  readonly unique: readonly string[];
  /** Foreign keys of one column. */
  readonly references: readonly {
    readonly column: string;
    readonly table: string;
    readonly target: string;
  }[];
}

export interface CandidateColumn {
  readonly name: string;
  readonly baseType: string;
  readonly notNull: boolean;
}

/** All tables, views and foreign tables of the database but the system's, ours, partitions and those of extensions. */
export async function readCandidates(db: Queryable): Promise<CandidateTable[]> {
  return db.query<CandidateTable>({
    text: `
select n.nspname as schema, c.relname as name, c.relkind::text as kind, c.reltuples::float8 as rows,
  coalesce((
    select json_agg(json_build_object('name', a.attname, 'baseType', b.typname, 'notNull', a.attnotnull) order by a.attnum)
    from pg_catalog.pg_attribute a
    join pg_catalog.pg_type y on y.oid = a.atttypid
    join pg_catalog.pg_type b on b.oid = case when y.typtype = 'd' then y.typbasetype else y.oid end
    where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
  ), '[]') as columns,
  array(
    select a.attname::text from pg_catalog.pg_index i
    join pg_catalog.pg_attribute a on a.attrelid = c.oid and a.attnum = any (i.indkey)
    where i.indrelid = c.oid and i.indisprimary order by a.attnum
  ) as "primaryKey",
  array(
    select distinct a.attname::text from pg_catalog.pg_index i
    join pg_catalog.pg_attribute a on a.attrelid = c.oid and a.attnum = i.indkey[0]
    where i.indrelid = c.oid and i.indisunique and i.indnkeyatts = 1 and i.indpred is null and i.indisvalid
  ) as unique,
  coalesce((
    select json_agg(json_build_object('column', a.attname, 'table', tn.nspname || '.' || t.relname, 'target', ta.attname))
    from pg_catalog.pg_constraint k
    join pg_catalog.pg_attribute a on a.attrelid = c.oid and a.attnum = k.conkey[1]
    join pg_catalog.pg_class t on t.oid = k.confrelid
    join pg_catalog.pg_namespace tn on tn.oid = t.relnamespace
    join pg_catalog.pg_attribute ta on ta.attrelid = t.oid and ta.attnum = k.confkey[1]
    where k.conrelid = c.oid and k.contype = 'f' and cardinality(k.conkey) = 1
  ), '[]') as "references"
from pg_catalog.pg_class c
join pg_catalog.pg_namespace n on n.oid = c.relnamespace
where c.relkind in ('r', 'p', 'f', 'v', 'm') and not c.relispartition and c.relpersistence <> 't'
  and n.nspname not in ('pg_catalog', 'information_schema', 'pulsefeed') and n.nspname not like 'pg\\_%'
  and not exists (
    select from pg_catalog.pg_depend d
    where d.classid = 'pg_class'::regclass and d.objid = c.oid and d.deptype = 'e')
order by n.nspname, c.relname`,
  });
}

/**
 * How often each ResourceName occurs in a column, over a part of a large table. Empty when the table cannot be read:
 * then nothing is guessed from its contents.
 */
export async function countResourceNames(
  db: Queryable,
  table: CandidateTable,
  column: string,
): Promise<{ name: string; records: number }[]> {
  try {
    return await db.query<{ name: string; records: number }>({
      text: `
select ${quoteIdentifier(column)}::text as name, count(*)::int as records
from (select ${quoteIdentifier(column)} from ${quoteIdentifier(table.schema)}.${quoteIdentifier(table.name)} limit 10000) t
where ${quoteIdentifier(column)} is not null
group by 1
order by 2 desc, 1`,
    });
  } catch {
    return [];
  }
}
