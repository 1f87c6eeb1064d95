import type { Statement } from '../db/index.ts';

/** The relation behind a name: ordinary and partitioned tables, foreign tables, views. */
export function readRelation(schema: string | undefined, name: string): Statement {
  return {
    text: `
select c.oid::int8::int as oid, n.nspname as schema, c.relkind::text as kind
from pg_catalog.pg_class c
join pg_catalog.pg_namespace n on n.oid = c.relnamespace
where c.relname = $2 and c.relkind in ('r', 'p', 'f', 'v', 'm')
  and case when $1::text is null then pg_catalog.pg_table_is_visible(c.oid) else n.nspname = $1 end`,
    values: [schema ?? null, name],
  };
}

export interface ColumnRow {
  readonly name: string;
  readonly type: string;
  readonly base_type: string;
  readonly not_null: boolean;
  readonly max_length: number | null;
  readonly precision: number | null;
  readonly scale: number | null;
  readonly generated: boolean;
  readonly has_default: boolean;
  readonly collation: string | null;
}

/** Columns in their order, domains resolved to their base type. */
export function readColumns(oid: number): Statement {
  return {
    text: `
select a.attname as name, pg_catalog.format_type(a.atttypid, a.atttypmod) as type,
  b.typname as base_type, a.attnotnull as not_null,
  case when b.typname in ('varchar', 'bpchar') and m.mod > 4 then m.mod - 4 end as max_length,
  case when b.typname = 'numeric' and m.mod > 4 then ((m.mod - 4) >> 16) & 65535 end as precision,
  case when b.typname = 'numeric' and m.mod > 4 then (m.mod - 4) & 2047 end as scale,
  a.attidentity <> '' or a.attgenerated <> '' as generated,
  a.atthasdef or a.attidentity <> '' as has_default,
  case when l.oid is not null then pg_catalog.quote_ident(ln.nspname) || '.' || pg_catalog.quote_ident(l.collname) end
    as collation
from pg_catalog.pg_attribute a
join pg_catalog.pg_type y on y.oid = a.atttypid
join pg_catalog.pg_type b on b.oid = case when y.typtype = 'd' then y.typbasetype else y.oid end
cross join lateral (select case when y.typtype = 'd' then y.typtypmod else a.atttypmod end as mod) m
left join pg_catalog.pg_collation l on l.oid = a.attcollation
left join pg_catalog.pg_namespace ln on ln.oid = l.collnamespace
where a.attrelid = $1::int8::oid and a.attnum > 0 and not a.attisdropped
order by a.attnum`,
    values: [oid],
  };
}
