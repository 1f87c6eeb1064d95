import type { ResourceTable } from '../base/catalog/index.ts';
import { quoteIdentifier } from '../base/db/index.ts';

/** What the configured column tells about the time of a record's last change. */
export interface ModifiedColumn {
  /** timestamptz over alias `t`; absent when there is no such column. */
  readonly sql?: string;
  /** What reconciling cannot see with it, or has to assume. */
  readonly note?: string;
}

/** How the time of a record's last change is read from its row. */
export function modifiedColumn(table: ResourceTable): ModifiedColumn {
  const { modified } = table.config;
  if (modified === undefined) {
    return {
      note: 'no modified column is configured: of records that were there all along, only a change of a parent is seen, any other change is not',
    };
  }
  const column = table.columns.find(({ name }) => name === modified);
  const sql = `t.${quoteIdentifier(modified)}`;
  switch (column?.baseType) {
    case 'timestamptz':
      return { sql };
    case 'timestamp':
      return { sql: `${sql} at time zone 'UTC'`, note: `${modified} has no time zone and is read as UTC` };
    case 'date':
      // Anything may have happened until the day ended.
      return {
        sql: `(${sql} + 1)::timestamp at time zone 'UTC'`,
        note: `${modified} is a date: every record changed on the day of its last pulse counts as modified`,
      };
    default:
      return {
        note: `${modified} is of type ${column?.type ?? 'unknown'}, not a time: changes of records that were there all along are not seen, unless a parent changed`,
      };
  }
}
