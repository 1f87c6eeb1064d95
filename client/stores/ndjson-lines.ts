import { crc32 } from 'node:zlib';
import { isJsonObject, parseExact, stringifyExact } from '../exact-json.ts';
import type { Batch, RecordRef, Upsert } from '../store.ts';

/** What one line of the file says. */
export type Line =
  | { readonly kind: 'record'; readonly resource: string; readonly key: string; readonly generation: number }
  | { readonly kind: 'deleted'; readonly resource: string; readonly key: string }
  | { readonly kind: 'cursor'; readonly cursor: string; readonly crc32: number };

/** The line of a record: its name first, so that an index can be made without reading the record. */
export function recordLine({ resource, key, record }: Upsert, generation: number): string {
  const head = JSON.stringify({ '@resource': resource, '@key': key, '@generation': generation });
  return `${head.slice(0, -1)}${BODY}${stringifyExact(record)}}\n`;
}

/** The lines of one batch with the cursor line that makes them valid. */
export function batchLines(batch: Batch, deferred: readonly RecordRef[]): { lines: string[]; text: string } {
  const lines = batch.upserts.map(upsert => recordLine(upsert, batch.generation));
  for (const { resource, key } of batch.deletes) {
    lines.push(`${JSON.stringify({ '@resource': resource, '@key': key, '@deleted': true })}\n`);
  }
  const body = lines.join('');
  return { lines, text: body + cursorLine(batch.cursor(deferred), crc32(body)) };
}

/** The line that closes a batch: the cursor, and the CRC-32 of the bytes of the batch before it. */
export function cursorLine(cursor: string, checksum: number): string {
  return `${JSON.stringify({ '@cursor': cursor, '@crc32': checksum })}\n`;
}

/** Reads what a line is about; `undefined` when it is torn or not of this format. */
export function readLine(line: string): Line | undefined {
  // Inside a JSON string the quotes would be escaped, so the first match is the boundary.
  const body = line.indexOf(BODY);
  const head = body === -1 ? line : `${line.slice(0, body)}}`;
  if (body !== -1 && !line.endsWith('}')) return undefined;
  let value: unknown;
  try {
    value = JSON.parse(head);
  } catch {
    return undefined;
  }
  if (typeof value !== 'object' || value === null) return undefined;
  const fields = value as Record<string, unknown>;
  const {
    '@resource': resource,
    '@key': key,
    '@generation': generation,
    '@cursor': cursor,
    '@crc32': checksum,
  } = fields;
  if (typeof cursor === 'string' && typeof checksum === 'number')
    return { kind: 'cursor', cursor, crc32: checksum };
  if (typeof resource !== 'string' || typeof key !== 'string') return undefined;
  if (fields['@deleted'] === true) return { kind: 'deleted', resource, key };
  return body !== -1 && typeof generation === 'number'
    ? { kind: 'record', resource, key, generation }
    : undefined;
}

/** The record of a record line. @throws Error when the line is not one. */
export function readRecord(line: string): Upsert {
  const value = parseExact(line);
  const { '@resource': resource, '@key': key, record } = isJsonObject(value) ? value : {};
  if (typeof resource !== 'string' || typeof key !== 'string' || !isJsonObject(record))
    throw new Error('Not a record line.');
  return { resource, key, record };
}

const BODY = ',"record":';
