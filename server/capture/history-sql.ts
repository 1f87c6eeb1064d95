import type { ResourceTable } from '../base/catalog/index.ts';
import { historyInsert } from '../log/index.ts';

/** What the block works with, in the trigger function's `declare`. */
export const historyVariables = `
  change_id bigint;
  fields text[];
  befores text[];
  afters text[];`;

/**
 * Compares the row before with the row after, column by column in their order, and leaves one history row for each
 * that differs: of a new record each that is not null, of a deleted one likewise. Columns are named by what the row has
 * at the time, so that none that was dropped or renamed makes the provider's write fail. The comparison is in a block
 * that may fail and the insert behind it, since a block that writes takes a transaction id of its own for each row. The
 * two lists of columns are laid side by side: a join took twice as long, and stripping nulls first, which is faster, would
 * not see a null within json.
 */
export function historyBlock(table: ResourceTable, op: 'i' | 'u' | 'd', key: string): string {
  const side = (row: 'new' | 'old', there: boolean) =>
    `json_each_text(${there ? `row_to_json(${row})` : 'null::json'})`;
  const hidden = hiddenColumns(table);
  const shown =
    hidden.length === 0 ? '' : `\n        and coalesce(c.name, c.name_before) not in (${hidden.join(', ')})`;
  return `
    begin
      select array_agg(coalesce(c.name, c.name_before) order by c.place), array_agg(c.before order by c.place),
        array_agg(c.after order by c.place)
      into fields, befores, afters
      from rows from (${side('new', op !== 'd')}, ${side('old', op !== 'i')}) with ordinality
        c (name, after, name_before, before, place)
      where c.after is distinct from c.before${shown};
    exception when others then
      fields := null;
      raise warning 'pulsefeed: the history of a change of % is missing: %', tg_table_name, sqlerrm;
    end;
    if fields is not null then
      ${historyInsert(table.config.name, { change: 'change_id', key, fields: 'fields', before: 'befores', after: 'afters' })};
    end if;`;
}

/** Columns that the configuration hides, as SQL literals: what nobody may read is not written down either. */
function hiddenColumns({ config, columns }: ResourceTable): string[] {
  return columns
    .filter(({ name }) => config.fields?.[name] === false)
    .map(({ name }) => `'${name.replaceAll("'", "''")}'`);
}
