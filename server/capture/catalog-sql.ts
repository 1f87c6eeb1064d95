import type { Statement } from '../base/db/index.ts';
import { outbox } from '../log/index.ts';
import { prefixes } from './names.ts';

/** A relation of a resource's table: the table itself and all of its partitions and inheriting tables. */
export interface RelationRow {
  readonly oid: string;
  readonly schema: string;
  readonly name: string;
  /** r table, p partitioned, f foreign, v view, m materialized view. */
  readonly kind: string;
  /** A partition has clones of its parent's row triggers; a table that merely inherits has not. */
  readonly partition: boolean;
  readonly level: number;
  readonly owner: string;
  /** Whether the current role may alter it. */
  readonly owned: boolean;
}

/** The table and everything below it, the table first. */
export function readRelations(schema: string, name: string): Statement {
  return {
    text: `
with recursive tree as (
  select c.oid, 0 as level
  from pg_catalog.pg_class c
  join pg_catalog.pg_namespace n on n.oid = c.relnamespace
  where n.nspname = $1 and c.relname = $2 and c.relkind in ('r', 'p', 'f', 'v', 'm')
  union all
  select i.inhrelid, t.level + 1
  from tree t
  join pg_catalog.pg_inherits i on i.inhparent = t.oid
)
select c.oid::text as oid, n.nspname as schema, c.relname as name, c.relkind::text as kind,
  c.relispartition as partition, min(t.level) as level, r.rolname as owner,
  pg_catalog.pg_has_role(c.relowner, 'USAGE') as owned
from tree t
join pg_catalog.pg_class c on c.oid = t.oid
join pg_catalog.pg_namespace n on n.oid = c.relnamespace
join pg_catalog.pg_roles r on r.oid = c.relowner
group by c.oid, n.nspname, c.relname, c.relkind, c.relispartition, c.relowner, r.rolname
order by level, c.oid`,
    values: [schema, name],
  };
}

/** A trigger of ours, by its name. */
export interface TriggerRow {
  readonly oid: string;
  readonly name: string;
  /** pg_trigger.tgtype: bits for row, timing and events. */
  readonly type: number;
  /** A always, O origin, R replica, D disabled. */
  readonly enabled: string;
  readonly fn: string;
  readonly conditional: boolean;
}

export function readTriggers(oids: readonly string[], names: readonly string[]): Statement {
  return {
    text: `
select t.tgrelid::text as oid, t.tgname as name, t.tgtype::int as type, t.tgenabled::text as enabled,
  n.nspname || '.' || p.proname as fn, t.tgqual is not null or t.tgattr <> '' as conditional
from pg_catalog.pg_trigger t
join pg_catalog.pg_proc p on p.oid = t.tgfoid
join pg_catalog.pg_namespace n on n.oid = p.pronamespace
where t.tgrelid::text = any ($1::text[]) and t.tgname = any ($2::text[])`,
    values: [oids, names],
  };
}

export interface FunctionRow {
  readonly body: string;
  readonly definer: boolean;
  readonly settings: readonly string[] | null;
  readonly language: string;
  readonly owner: string;
  /** Whether the owner, with whose rights it runs, may write to the outbox. */
  readonly may_write: boolean;
}

export function readFunction(name: string): Statement {
  return {
    text: `
select p.prosrc as body, p.prosecdef as definer, p.proconfig as settings, l.lanname as language,
  r.rolname as owner, pg_catalog.has_schema_privilege(p.proowner, '${outbox.schema}', 'USAGE')
    and pg_catalog.has_table_privilege(p.proowner, '${outbox.schema}.${outbox.table}', 'INSERT') as may_write
from pg_catalog.pg_proc p
join pg_catalog.pg_language l on l.oid = p.prolang
join pg_catalog.pg_roles r on r.oid = p.proowner
where p.pronamespace = 'pulsefeed'::regnamespace and p.proname = $1 and p.pronargs = 0`,
    values: [name],
  };
}

/** Who owns the outbox, and who we are. */
export const readOwner: Statement = {
  text: `
select r.rolname as owner, current_user::text as self
from pg_catalog.pg_class c
join pg_catalog.pg_roles r on r.oid = c.relowner
where c.oid = '${outbox.schema}.${outbox.table}'::regclass`,
};

export interface InstalledRow {
  /** Trigger function in schema pulsefeed. */
  readonly fn: string;
  /** The table's oid; null for a function that no trigger uses. */
  readonly oid: string | null;
  /** Quoted table. */
  readonly table: string | null;
  readonly trigger: string | null;
}

/** Every trigger function of capture with the triggers that call it, clones on partitions left out. */
export const readInstalled: Statement = {
  text: `
select p.proname as fn, c.oid::text as oid,
  pg_catalog.quote_ident(n.nspname) || '.' || pg_catalog.quote_ident(c.relname) as table, t.tgname as trigger
from pg_catalog.pg_proc p
left join pg_catalog.pg_trigger t on t.tgfoid = p.oid and t.tgparentid = 0
left join pg_catalog.pg_class c on c.oid = t.tgrelid
left join pg_catalog.pg_namespace n on n.oid = c.relnamespace
where p.pronamespace = 'pulsefeed'::regnamespace and p.prorettype = 'trigger'::regtype
  and pg_catalog.starts_with(p.proname, '${prefixes.fn}')
order by p.proname, c.oid, t.tgname`,
};
