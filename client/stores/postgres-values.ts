import { canonicalInstant, type SourceRecord } from '../canonical.ts';
import {
  ExactDecimal,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  parseExact,
  stringifyExact,
} from '../exact-json.ts';

/** A column of a resource's table; `type` is the Postgres type as `information_schema` names it. */
export interface Column {
  readonly name: string;
  readonly type: string;
}

/** The Postgres type that holds values of an EDM type without loss, as far as one does. */
export function columnType(edmType: string): string {
  return COLUMN_TYPES[edmType] ?? 'text';
}

const COLUMN_TYPES: Readonly<Record<string, string>> = {
  'Edm.Boolean': 'boolean',
  'Edm.Byte': 'smallint',
  'Edm.SByte': 'smallint',
  'Edm.Int16': 'smallint',
  'Edm.Int32': 'integer',
  'Edm.Int64': 'bigint',
  'Edm.Decimal': 'numeric',
  'Edm.Single': 'double precision',
  'Edm.Double': 'double precision',
  'Edm.Date': 'date',
  'Edm.DateTimeOffset': 'timestamp with time zone',
  'Edm.TimeOfDay': 'time without time zone',
  'Edm.Guid': 'uuid',
  json: 'jsonb',
};

/**
 * Splits a record into typed columns and the rest. A value that its column cannot hold exactly (a number out of range, a date
 * like 0000-00-00, more than microseconds, a NUL character) and a field without a column go to the rest, so nothing is lost.
 */
export function splitRecord(
  columns: readonly Column[],
  record: SourceRecord,
): { typed: JsonObject; extra: JsonObject | null } {
  const types = new Map(columns.map(({ name, type }) => [name, type]));
  const typed: JsonObject = {};
  const extra: JsonObject = {};
  for (const [name, value] of Object.entries(record)) {
    if (value === null) continue;
    const type = types.get(name);
    const fitting = type === undefined ? undefined : columnValue(type, value);
    if (fitting !== undefined) typed[name] = fitting;
    else Object.defineProperty(extra, name, { value: packed(value), enumerable: true });
  }
  return { typed, extra: Object.keys(extra).length > 0 ? extra : null };
}

/** The rest of a row when even the split one was refused: the whole record, packed. */
export function packWhole(record: SourceRecord): JsonObject {
  return { [PACKED_RECORD]: pack(record) };
}

/** Puts a row back together: the columns that are not null, and over them the rest. */
export function joinRecord(typed: JsonObject, extra: JsonValue | undefined): SourceRecord {
  const record: SourceRecord = {};
  const put = (name: string, value: JsonValue) => Object.defineProperty(record, name, { value, ...OPEN });
  for (const [name, value] of Object.entries(typed)) if (value !== null) put(name, value);
  if (!isJsonObject(extra)) return record;
  const whole = extra[PACKED_RECORD];
  if (typeof whole === 'string') {
    const value = unpack(whole);
    return isJsonObject(value) ? value : record;
  }
  for (const [name, value] of Object.entries(extra)) {
    const text = isJsonObject(value) ? value[PACKED_VALUE] : undefined;
    put(name, typeof text === 'string' ? unpack(text) : value);
  }
  return record;
}

/** The value to be given to Postgres for a column of this type, or `undefined` when the column cannot hold it exactly. */
export function columnValue(type: string, value: JsonValue): JsonValue | undefined {
  const fitting = FITS[type];
  if (fitting) return fitting(value);
  // text, varchar and what else a user may have chosen: strings as they are.
  return typeof value === 'string' && !value.includes('\0') ? value : undefined;
}

const OPEN = { enumerable: true, writable: true, configurable: true };
const PACKED_VALUE = 'pulsefeed.packed';
const PACKED_RECORD = 'pulsefeed.record';

const FITS: Readonly<Record<string, (value: JsonValue) => JsonValue | undefined>> = {
  boolean: value => (typeof value === 'boolean' ? value : undefined),
  smallint: value => integer(value, 15n),
  integer: value => integer(value, 31n),
  bigint: value => integer(value, 63n),
  numeric: value => {
    const text = numberText(value);
    return text !== undefined && /^-?\d{1,500}(\.\d{1,500})?([eE][+-]?\d{1,3})?$/.test(text)
      ? text
      : undefined;
  },
  'double precision': value => {
    const text = numberText(value);
    const number = Number(text);
    return text !== undefined && text.trim() !== '' && Number.isFinite(number) ? number : undefined;
  },
  date: value => (typeof value === 'string' && isDate(value) ? value : undefined),
  'timestamp with time zone': value => {
    if (typeof value !== 'string') return undefined;
    const instant = canonicalInstant(value);
    return instant !== undefined && isDate(instant.slice(0, 10)) && !/\.\d{7}/.test(instant)
      ? instant
      : undefined;
  },
  'time without time zone': value => {
    const ok = typeof value === 'string' && /^([01]\d|2[0-3]):[0-5]\d(:[0-5]\d(\.\d{1,6})?)?$/.test(value);
    return ok ? value : undefined;
  },
  uuid: value =>
    typeof value === 'string' && /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i.test(value) ? value : undefined,
  jsonb: value => (isPlainJson(value) ? value : undefined),
};

function numberText(value: JsonValue): string | undefined {
  const usable =
    typeof value === 'number' ||
    typeof value === 'bigint' ||
    typeof value === 'string' ||
    value instanceof ExactDecimal;
  return usable ? String(value) : undefined;
}

function integer(value: JsonValue, bits: bigint): string | undefined {
  const text = numberText(value);
  if (text === undefined || !/^-?\d{1,20}$/.test(text)) return undefined;
  const number = BigInt(text);
  const limit = 1n << bits;
  return number >= -limit && number < limit ? number.toString() : undefined;
}

function isDate(text: string): boolean {
  const match = /^(\d{4})-(\d\d)-(\d\d)$/.exec(text);
  if (!match || match[1] === '0000') return false;
  const date = new Date(`${text}T00:00:00Z`);
  return !Number.isNaN(date.getTime()) && date.toISOString().startsWith(text);
}

/** jsonb refuses NUL and holds numbers only up to numeric's range. */
function isPlainJson(value: JsonValue): boolean {
  const text = stringifyExact(value);
  return !text.includes('\\u0000') && !/[eE][+-]?\d{4,}/.test(text);
}

function packed(value: JsonValue): JsonValue {
  return isPlainJson(value) ? value : { [PACKED_VALUE]: pack(value) };
}

function pack(value: JsonValue): string {
  return Buffer.from(stringifyExact(value)).toString('base64');
}

function unpack(text: string): JsonValue {
  return parseExact(Buffer.from(text, 'base64').toString());
}
