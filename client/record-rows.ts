import { plainRecord, type SourceRecord } from './canonical.ts';
import { isJsonObject, type JsonObject, parseExact } from './exact-json.ts';
import { BadAnswer, type HttpAnswer } from './http-send.ts';
import type { Field } from './metadata.ts';
import { readJsonObject, readRows } from './page.ts';

/** The key of a record in an answer, as a pulse would name it. @throws BadAnswer when it has none. */
export function rowKey(field: Field, row: JsonObject): string {
  const value = row[field.name];
  const scalar = typeof value === 'string' || typeof value === 'number' || typeof value === 'bigint';
  if (!scalar) throw new BadAnswer(`A record lacks its key ${field.name}`);
  return String(value);
}

/** The form in which two keys are compared: GUIDs have no case. */
export function normalKey(field: Field, key: string): string {
  return field.type === 'Edm.Guid' ? key.toLowerCase() : key;
}

/** True when the row is the record of that key. @throws BadAnswer when it has no key. */
export function sameKey(field: Field, row: JsonObject, key: string): boolean {
  return normalKey(field, rowKey(field, row)) === normalKey(field, key);
}

/**
 * Reads the answer to `Resource('key')`. `unsure` for an empty collection, which some servers answer.
 * @throws BadAnswer when it is another record.
 */
export function readSingle(field: Field, key: string, answer: HttpAnswer): SourceRecord | 'unsure' {
  const body = readJsonObject(answer);
  const row = Array.isArray(body.value) ? readRows(body)[0] : body;
  if (!row) return 'unsure';
  if (!sameKey(field, row, key)) throw new BadAnswer(`The source answers another record than ${key}`);
  return plainRecord(row);
}

/** True when the body is an error document of OData and not some proxy's page. */
export function isODataError(answer: HttpAnswer): boolean {
  try {
    const body = parseExact(answer.text);
    return isJsonObject(body) && isJsonObject(body.error) && body.error.code !== undefined;
  } catch {
    return false;
  }
}
