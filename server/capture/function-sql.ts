import type { ResourceTable } from '../base/catalog/index.ts';
import { quoteIdentifier } from '../base/db/index.ts';
import { maxKeyLength, outboxInsert } from '../log/index.ts';
import { historyBlock, historyVariables } from './history-sql.ts';

/**
 * The search_path that the trigger functions are pinned to: they run with the rights of their owner, and a writer of
 * the provider's table must not be able to slip an operator of its own in.
 */
const plainSettings = ['search_path=pg_catalog, pg_temp'] as const;

/** History holds values as text, which must not depend on how the writer's session likes to see them. */
const textSettings = ['TimeZone=UTC', 'IntervalStyle=iso_8601', 'extra_float_digits=1'] as const;

/** The settings of a resource's trigger function, as pg_proc.proconfig has them. */
export function functionSettings(table: ResourceTable): readonly string[] {
  return table.config.history === true ? [...plainSettings, ...textSettings] : plainSettings;
}

/** A function of its own for each resource: `new."Key"` in plain sight is twice as fast as dynamic SQL or to_jsonb. */
export function createFunction(fn: string, table: ResourceTable): string {
  const body = functionBody(table);
  // The search path is a list and not one quoted name.
  const settings = functionSettings(table).map(setting => setting.replace(/=((?!pg_catalog).*)$/, " = '$1'"));
  // A provider's column name must not be able to end the quotation.
  let tag = '$pulsefeed$';
  while (body.includes(tag)) tag = `${tag.slice(0, -1)}_$`;
  return `create or replace function pulsefeed.${quoteIdentifier(fn)}() returns trigger
language plpgsql security definer ${settings.map(setting => `set ${setting}`).join(' ')}
as ${tag}${body}${tag}`;
}

/**
 * The body of the trigger function. It never makes the provider's write fail for a reason that can be avoided:
 * - The key's type was altered while sessions keep their compiled function: the first reading fails with
 *   "type of parameter does not match", the second reads the key by dynamic SQL, which is planned anew.
 * - The key column was renamed or dropped: the row leaves a marker that the sequencer stumbles over, so that the
 *   feed stops loudly (EE-302) instead of missing changes silently.
 * - A null key, or one longer than the feed carries, names no record and is skipped.
 * With history, what changed is compared in a block of its own: where that fails, the change is told without it.
 * The exception block starts a subtransaction that writes nothing, so it uses no transaction id; its cost was not
 * measurable beside the insert.
 */
export function functionBody(table: ResourceTable): string {
  const { name } = table.config;
  const key = quoteIdentifier(table.key.name);
  const history = table.config.history === true;
  const insert = (op: 'i' | 'u' | 'd' | 't' | 'r', value: string) => outboxInsert(op, name, value);
  const change = (op: 'i' | 'u' | 'd', value: string) =>
    history
      ? `${insert(op, value)} returning id into change_id;${historyBlock(table, op, value)}`
      : `${insert(op, value)};`;
  const fits = (value: string) =>
    `${value} is not null${mayBeTooLong(table) ? ` and length(${value}) <= ${maxKeyLength}` : ''}`;
  return `
declare
  new_key text collate "C";
  old_key text collate "C";${history ? historyVariables : ''}
begin
  if tg_op = 'TRUNCATE' then
    ${insert('t', "''")};
    return null;
  end if;
  begin
    if tg_op <> 'DELETE' then new_key := new.${key}::text; end if;
    if tg_op <> 'INSERT' then old_key := old.${key}::text; end if;
  exception when others then
    begin
      if tg_op <> 'DELETE' then execute ${literal(`select ($1).${key}::text`)} into new_key using new; end if;
      if tg_op <> 'INSERT' then execute ${literal(`select ($1).${key}::text`)} into old_key using old; end if;
    exception when others then
      ${insert('r', "''")};
      return null;
    end;
  end;
  if new_key = old_key then
    if ${fits('new_key')} then ${change('u', 'new_key')} end if;
    return null;
  end if;
  if ${fits('old_key')} then ${change('d', 'old_key')} end if;
  if ${fits('new_key')} then ${change('i', 'new_key')} end if;
  return null;
end
`;
}

/** True when the key's type allows texts that the feed cannot carry; the others need not be measured. */
export function mayBeTooLong(table: ResourceTable): boolean {
  const { baseType, maxLength } = table.key;
  if (['int2', 'int4', 'int8', 'uuid'].includes(baseType)) return false;
  return maxLength === undefined || maxLength > maxKeyLength;
}

function literal(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}
