import type { ResourceTable } from '../base/catalog/index.ts';

/**
 * SQL text that changes whenever the row of `alias` does: for a table the number of the transaction that wrote this
 * version of the row, which costs nothing to read; for views and foreign tables, which have none, a digest of the row.
 */
export function etagSql(table: ResourceTable, alias: string): string {
  return table.versioned ? `${alias}.xmin::text` : `md5(${alias}::text)`;
}

/** The entity tag. Weak: the same state is written in several representations. */
export function etagOf(version: string): string {
  return `W/"${version}"`;
}
