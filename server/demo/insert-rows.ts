import type { Queryable } from '../base/db/index.ts';
import type { SampleRow, SampleTable } from './tables.ts';

/** Inserts rows of one table in one round trip. */
export async function insertRows(
  tx: Queryable,
  table: SampleTable,
  rows: readonly SampleRow[],
): Promise<void> {
  if (rows.length === 0) return;
  await tx.query({
    text: `insert into public.${table} select * from json_populate_recordset(null::public.${table}, $1::json)`,
    values: [JSON.stringify(rows)],
  });
}
