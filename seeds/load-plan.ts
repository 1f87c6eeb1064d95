import type { ResourceTable } from '../server/base/catalog/index.ts';

/** A column that is loaded, and where its value comes from. */
export interface LoadColumn {
  readonly name: string;
  /** As `format_type` writes it. */
  readonly type: string;
  readonly array: boolean;
  /** The column takes no null. */
  readonly required: boolean;
  /** What an empty field becomes: null, or an empty text where the column takes texts but no null. */
  readonly whenEmpty: string | null;
  /** Index in a record's values, or the key or date as they were read. */
  readonly from: number | 'key' | 'modified';
  /** Takes the date as it was read where the file has no field of this name. */
  readonly elseModified: boolean;
}

/** How the records of a file become rows of a table. */
export interface LoadPlan {
  readonly table: ResourceTable;
  readonly columns: readonly LoadColumn[];
}

const textTypes = new Set(['text', 'varchar', 'bpchar']);

/**
 * Matches fields and columns by name. The key column takes the record's key and the modified column its date, as
 * they were read, also when the file calls them otherwise; generated columns are left to the database.
 * @param fields names of the fields in the order of a record's values; a file need not have all of them.
 * @param modified the field that is read as a date, if any.
 */
export function planLoad(
  table: ResourceTable,
  fields: readonly string[],
  modified: string | undefined,
): LoadPlan {
  const columns: LoadColumn[] = [];
  for (const column of table.columns) {
    if (column.generated) continue;
    const from = sourceOf(column.name, table, fields, modified);
    if (from === undefined) continue;
    const isText = textTypes.has(column.baseType);
    columns.push({
      name: column.name,
      type: column.type,
      array: column.baseType.startsWith('_'),
      required: column.notNull,
      whenEmpty: isText && column.notNull ? '' : null,
      from,
      elseModified: modified !== undefined && column.name === table.config.modified,
    });
  }
  return { table, columns };
}

function sourceOf(
  column: string,
  table: ResourceTable,
  fields: readonly string[],
  modified: string | undefined,
): LoadColumn['from'] | undefined {
  if (column === table.key.name) return 'key';
  if (column === modified) return 'modified';
  const field = fields.indexOf(column);
  return field === -1 ? undefined : field;
}
