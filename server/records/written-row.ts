import { keyText, matchKey } from '../base/catalog/index.ts';
import type { Queryable } from '../base/db/index.ts';
import { PulsefeedError } from '../base/errors.ts';
import type { EntityRow, WriteRequest } from '../edm/entity-set.ts';
import { etagOf, etagSql } from './row-etag.ts';
import { propertiesJson } from './row-json.ts';
import { quotedAlias, type RecordResource, rowAlias } from './schema.ts';
import { type StatementWriter, startStatement } from './statement.ts';

interface WrittenRow {
  readonly json: string;
  readonly key: string;
  readonly etag: string;
}

/**
 * Runs a write of one row and returns the row as it was written: its writer may see it before it has a number.
 * @param statement the write, given what it returns. @throws EE-119 when the database did not take the record.
 */
export async function writeRow(
  tx: Queryable,
  { table, type }: RecordResource,
  { shape }: WriteRequest,
  { values }: StatementWriter,
  statement: (returning: string) => string,
): Promise<EntityRow> {
  const key = `${keyText(table, quotedAlias)} as key`;
  // Nothing related is shown with a row that is written.
  const shown = `${propertiesJson(type, shape, quotedAlias)} as json, ${key}, ${etagSql(table, quotedAlias)} as etag`;
  if (!table.partitioned) {
    const [row] = await tx.query<WrittenRow>({ text: statement(shown), values });
    return entityRow(row);
  }
  // A row that went to a partition of another layout has no xmin to return.
  const [written] = await tx.query<Pick<WrittenRow, 'key'>>({ text: statement(key), values });
  const w = startStatement();
  const match = matchKey(table, quotedAlias, `${w.bind(written?.key ?? null)}::text`);
  const [row] = await tx.query<WrittenRow>({
    text: `select ${shown} from ${table.quoted} ${rowAlias} where ${match}`,
    values: w.values,
  });
  return entityRow(row);
}

function entityRow(row: WrittenRow | undefined): EntityRow {
  // A rule or trigger of the provider's may have turned the row away.
  if (row === undefined) throw new PulsefeedError('EE-119', 'The database did not take the record.');
  return { json: row.json, key: [row.key], position: [], etag: etagOf(row.etag) };
}
