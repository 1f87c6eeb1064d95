import { PulsefeedError } from '../server/base/errors.ts';
import { readCsv } from './csv-records.ts';
import type { DateReader } from './date-pattern.ts';
import { type FaultList, faultText } from './input-fault.ts';
import { fieldNames, type InputRecord } from './input-record.ts';
import { type InputRow, toRow } from './input-rows.ts';
import { readJsonLines } from './json-records.ts';
import { type OnBytes, readLines } from './text-lines.ts';

/** A file and how its records are read. */
export interface FileRows {
  readonly path: string;
  /** How the file is called in messages. */
  readonly name: string;
  readonly keyColumns: readonly string[];
  /** Stands between the parts of a key that comes from several columns. */
  readonly separator: string;
  /** The column with the time of the last change. */
  readonly modified?: { readonly name: string; readonly read: DateReader };
  /** Further fields to take where they are there; they follow key columns and `modified` in a record's values. */
  readonly optional: readonly string[];
}

/**
 * Reads a file of records, CSV or, by its name, JSON lines; `.gz` is decompressed. Yields usable rows in batches; each
 * record that is not becomes a fault. @throws EE-706 when the file cannot be read at all or lacks a column.
 */
export async function* readRows(
  file: FileRows,
  faults: FaultList,
  onBytes?: OnBytes,
): AsyncGenerator<InputRow[]> {
  const { keyColumns, separator, modified } = file;
  const wanted = {
    required: [...keyColumns, ...(modified === undefined ? [] : [modified.name])],
    optional: file.optional,
  };
  const names = fieldNames(wanted);
  const shape = {
    keyFields: keyColumns.map(name => ({ name, field: names.indexOf(name) })),
    separator,
    ...(modified === undefined ? {} : { modified: { ...modified, field: names.indexOf(modified.name) } }),
  };
  const lines = readLines(file.path, file.name, onBytes);
  const records = isJson(file.path)
    ? readJsonLines(lines, wanted, faults)
    : readCsv(lines, file.name, wanted, faults);
  // A CSV file has its columns in the header; of JSON lines it shows at the end that nobody has a field.
  let hasModified = false;
  let any = false;
  for await (const batch of records) {
    any ||= batch.length > 0;
    hasModified ||= shape.modified === undefined || batch.some(hasField(shape.modified.field));
    yield batch.map(record => toRow(record, shape, faults)).filter(row => row !== undefined);
  }
  if (any && !hasModified) {
    const message = `no record has a field ${JSON.stringify(modified?.name)}`;
    throw new PulsefeedError('EE-706', faultText({ file: file.name, line: 1, column: 1, message }));
  }
}

function hasField(field: number): (record: InputRecord) => boolean {
  return record => record.values[field] !== undefined;
}

/** JSON lines by the name of the file: `.ndjson`, `.jsonl`, with or without `.gz`. Anything else is CSV. */
export function isJson(path: string): boolean {
  return /\.(ndjson|jsonl|json)(\.gz)?$/i.test(path);
}
