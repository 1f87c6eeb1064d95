import type { ResourceTable } from '../base/catalog/index.ts';
import { quoteIdentifier } from '../base/db/index.ts';
import { maxKeyLength, outboxInsert } from '../log/index.ts';

/**
 * The search_path that the trigger functions are pinned to: they run with the rights of their owner, and a writer of
 * the provider's table must not be able to slip an operator of its own in.
 */
export const functionSettings = ['search_path=pg_catalog, pg_temp'] as const;

/** A function of its own for each resource: `new."Key"` in plain sight is twice as fast as dynamic SQL or to_jsonb. */
export function createFunction(fn: string, body: string): string {
  // A provider's column name must not be able to end the quotation.
  let tag = '$pulsefeed$';
  while (body.includes(tag)) tag = `${tag.slice(0, -1)}_$`;
  return `create or replace function pulsefeed.${quoteIdentifier(fn)}() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp
as ${tag}${body}${tag}`;
}

/**
 * The body of the trigger function. It never makes the provider's write fail for a reason that can be avoided:
 * - The key's type was altered while sessions keep their compiled function: the first reading fails with
 *   "type of parameter does not match", the second reads the key by dynamic SQL, which is planned anew.
 * - The key column was renamed or dropped: the row leaves a marker that the sequencer stumbles over, so that the
 *   feed stops loudly (EE-302) instead of missing changes silently.
 * - A null key, or one longer than the feed carries, names no record and is skipped.
 * The exception block starts a subtransaction that writes nothing, so it uses no transaction id; its cost was not
 * measurable beside the insert.
 */
export function functionBody(table: ResourceTable): string {
  const { name } = table.config;
  const key = quoteIdentifier(table.key.name);
  const insert = (op: 'i' | 'u' | 'd' | 't' | 'r', value: string) => outboxInsert(op, name, value);
  const fits = (value: string) =>
    `${value} is not null${mayBeTooLong(table) ? ` and length(${value}) <= ${maxKeyLength}` : ''}`;
  return `
declare
  new_key text collate "C";
  old_key text collate "C";
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
    if ${fits('new_key')} then ${insert('u', 'new_key')}; end if;
    return null;
  end if;
  if ${fits('old_key')} then ${insert('d', 'old_key')}; end if;
  if ${fits('new_key')} then ${insert('i', 'new_key')}; end if;
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
