import type { Field } from '../metadata.ts';
import { type Column, columnType } from './postgres-values.ts';

/** The table of one resource. */
export interface TableShape {
  /** Quoted, with its schema. */
  readonly table: string;
  readonly key: Column;
  /** The typed columns, the key first. */
  readonly columns: readonly Column[];
}

/** Quotes an identifier. */
export function quote(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

/** The fields that get a column: Postgres cuts names at 63 bytes and allows 1,600 columns; the others are kept in `pulsefeed_extra`. */
export function columnFields(key: Field, fields: readonly Field[]): Column[] {
  const usable = fields.filter(
    ({ name }) => name !== key.name && Buffer.byteLength(name) <= 63 && !name.startsWith('pulsefeed_'),
  );
  return [key, ...usable.slice(0, 1500)].map(({ name, type }) => ({ name, type: columnType(type) }));
}

/** The cursor of the copy and who owns it. */
export function createCursorTable(schema: string): string {
  return `create schema if not exists ${quote(schema)};
create table if not exists ${quote(schema)}.pulsefeed_cursor (
  id integer primary key default 1 check (id = 1),
  owner uuid,
  cursor text
);
insert into ${quote(schema)}.pulsefeed_cursor default values on conflict do nothing`;
}

/** Creates the table, or adds the columns that newer metadata has. */
export function createTable(table: string, columns: readonly Column[]): string {
  const [key, ...rest] = columns;
  const definitions = [
    ...(key ? [`${quote(key.name)} ${key.type} primary key`] : []),
    ...rest.map(({ name, type }) => `${quote(name)} ${type}`),
    'pulsefeed_extra jsonb',
    'pulsefeed_generation integer not null',
  ];
  return `create table if not exists ${table} (${definitions.join(', ')})`;
}

/** Adds columns to a table. */
export function addColumns(table: string, columns: readonly Column[]): string {
  return `alter table ${table} ${columns.map(({ name, type }) => `add column if not exists ${quote(name)} ${type}`).join(', ')}`;
}

/** Writes rows given as one JSON array ($1) under generation $2. The `json` type keeps every digit of a number. */
export function upsertRows({ table, key, columns }: TableShape): string {
  const names = [...columns.map(({ name }) => quote(name)), 'pulsefeed_extra'];
  const types = [...columns.map(({ name, type }) => `${quote(name)} ${type}`), 'pulsefeed_extra jsonb'];
  const updates = [...names.slice(1), 'pulsefeed_generation'].map(name => `${name} = excluded.${name}`);
  return `insert into ${table} (${names.join(', ')}, pulsefeed_generation)
select ${names.map(name => `r.${name}`).join(', ')}, $2::integer
from json_to_recordset($1::json) as r(${types.join(', ')})
on conflict (${quote(key.name)}) do update set ${updates.join(', ')}`;
}

/** Deletes the rows with the keys $1. */
export function deleteRows({ table, key }: TableShape): string {
  return `delete from ${table} where ${quote(key.name)} = any($1::text[]::${key.type}[])`;
}

/** Keys of rows from before generation $1, at most $2. */
export function staleRows({ table, key }: TableShape): string {
  return `select ${quote(key.name)}::text as key from ${table} where pulsefeed_generation < $1 limit $2`;
}

/** Which of the keys $1 exist, as they were asked for. */
export function existingKeys({ table, key }: TableShape): string {
  return `select k as key from unnest($1::text[]) as k
where exists (select from ${table} where ${quote(key.name)} = k::${key.type})`;
}

/** A page of rows after the key $1 (null for the first page), as JSON text: key, columns, rest. */
export function pageRows({ table, key, columns }: TableShape): string {
  const name = quote(key.name);
  const typed = columns.map(column => `t.${quote(column.name)}`).join(', ');
  return `select t.${name}::text as key,
  (select row_to_json(c) from (select ${typed}) as c)::text as typed,
  t.pulsefeed_extra::text as extra
from ${table} as t
where $1::text is null or t.${name} > $1::text::${key.type}
order by t.${name}
limit 500`;
}
