import { createHash } from 'node:crypto';
import { ExactDecimal, type JsonObject, type JsonValue } from './exact-json.ts';
import type { Field } from './metadata.ts';

/** A record as the source sent it, without annotations (names that hold `@`). */
export type SourceRecord = JsonObject;

/** Takes the annotations off a record and makes its strings well-formed Unicode, so that every store can keep them. */
export function plainRecord(answer: JsonObject): SourceRecord {
  const record: SourceRecord = {};
  for (const [name, value] of Object.entries(answer)) {
    if (!name.includes('@')) Object.defineProperty(record, name, { value: wellFormed(value), ...OPEN });
  }
  return record;
}

/**
 * The SHA-256 (hex) of a record's meaning. Two records have the same hash exactly when every field has the same value by
 * its EDM type: field order, null against absent, `1.50` against `1.5`, quoted against plain numbers and the same instant
 * in two offsets make no difference. All digits count, also past 2^53 and past microseconds.
 */
export function hashRecord(fields: readonly Field[], record: SourceRecord): string {
  return createHash('sha256').update(canonicalText(fields, record)).digest('hex');
}

/** The text that `hashRecord` hashes; for showing where two records differ. */
export function canonicalText(fields: readonly Field[], record: SourceRecord): string {
  const types = new Map(fields.map(field => [field.name, field.type]));
  const parts: string[] = [];
  for (const name of Object.keys(record).sort()) {
    const value = record[name];
    if (value === undefined || value === null || name.includes('@')) continue;
    parts.push(`${JSON.stringify(name)}:${canonicalValue(types.get(name) ?? 'json', value)}`);
  }
  return `{${parts.join(',')}}`;
}

/** The names of the fields in which two records differ, in alphabetical order. */
export function differingFields(fields: readonly Field[], one: SourceRecord, other: SourceRecord): string[] {
  const names = new Set([...Object.keys(one), ...Object.keys(other)]);
  return [...names].sort().filter(name => {
    const pick = (record: SourceRecord) => canonicalText(fields, { [name]: record[name] ?? null });
    return pick(one) !== pick(other);
  });
}

/** Writes a number text in one form only: no exponent sign variants, no leading or trailing zeros. */
export function canonicalNumber(text: string): string {
  const match = /^([+-]?)0*(\d*)(?:\.(\d*))?(?:[eE]([+-]?\d+))?$/.exec(text.trim());
  if (!match) return JSON.stringify(text);
  const [, sign = '', whole = '', fraction = '', exponent = '0'] = match;
  const digits = `${whole}${fraction}`.replace(/^0+/, '');
  const significant = digits.replace(/0+$/, '');
  if (significant === '') return '0';
  const power = BigInt(exponent) - BigInt(fraction.length) + BigInt(digits.length - significant.length);
  return `${sign === '-' ? '-' : ''}${significant}e${power}`;
}

/** Writes a DateTimeOffset as one instant in UTC with all its fraction digits; `undefined` when it is not one. */
export function canonicalInstant(text: string): string | undefined {
  const match = /^(-?\d{4,})-(\d\d)-(\d\d)T(\d\d):(\d\d)(?::(\d\d)(?:\.(\d+))?)?(Z|[+-]\d\d:?\d\d)?$/i.exec(
    text,
  );
  if (!match) return undefined;
  const [, year, month, day, hour, minute, second = '00', fraction = '', zone = 'Z'] = match;
  const sign = zone.startsWith('-') ? -1 : 1;
  const [offsetHours, offsetMinutes] = /z/i.test(zone)
    ? [0, 0]
    : [Number(zone.slice(1, 3)), Number(zone.slice(-2))];
  const date = new Date(0);
  date.setUTCFullYear(Number(year), Number(month) - 1, Number(day));
  // JavaScript would take February 30 for March 1; only what is a date may count as one.
  if (date.getUTCMonth() !== Number(month) - 1 || date.getUTCDate() !== Number(day)) return undefined;
  if (Number(hour) > 23 || Number(minute) > 59 || Number(second) > 59) return undefined;
  if (offsetHours > 14 || offsetMinutes > 59) return undefined;
  date.setUTCHours(Number(hour), Number(minute) - sign * (offsetHours * 60 + offsetMinutes), Number(second));
  const rest = fraction.replace(/0+$/, '');
  return `${date.toISOString().slice(0, -5)}${rest ? `.${rest}` : ''}Z`;
}

const OPEN = { enumerable: true, writable: true, configurable: true };
const LONE_SURROGATE = /\p{Surrogate}/gu;

function wellFormed(value: JsonValue): JsonValue {
  if (typeof value === 'string') return value.replace(LONE_SURROGATE, '\ufffd');
  if (Array.isArray(value)) return value.map(wellFormed);
  if (typeof value !== 'object' || value === null || value instanceof ExactDecimal) return value;
  const object: JsonObject = {};
  for (const [name, field] of Object.entries(value)) {
    Object.defineProperty(object, name.replace(LONE_SURROGATE, '\ufffd'), {
      value: wellFormed(field),
      ...OPEN,
    });
  }
  return object;
}

function canonicalValue(type: string, value: JsonValue): string {
  const scalar = typeof value !== 'object' || value instanceof ExactDecimal;
  if (!scalar) return canonicalJson(value);
  const text = String(value);
  switch (type) {
    case 'Edm.Byte':
    case 'Edm.SByte':
    case 'Edm.Int16':
    case 'Edm.Int32':
    case 'Edm.Int64':
    case 'Edm.Decimal':
      return canonicalNumber(text);
    case 'Edm.Single':
    case 'Edm.Double':
      return canonicalDouble(text);
    case 'Edm.DateTimeOffset':
      return JSON.stringify(canonicalInstant(text) ?? text);
    case 'Edm.TimeOfDay':
      return JSON.stringify(
        /^\d\d:\d\d$/.test(text) ? `${text}:00` : text.replace(/(\.\d*?)0+$/, '$1').replace(/\.$/, ''),
      );
    case 'Edm.Guid':
      return JSON.stringify(text.toLowerCase());
    default:
      return canonicalJson(value);
  }
}

function canonicalDouble(text: string): string {
  const value = Number(text);
  return text.trim() === '' || Number.isNaN(value) ? JSON.stringify(text) : canonicalNumber(String(value));
}

function canonicalJson(value: JsonValue): string {
  if (value instanceof ExactDecimal) return canonicalNumber(value.text);
  if (typeof value === 'number' || typeof value === 'bigint') return canonicalNumber(String(value));
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const fields = Object.keys(value).sort();
  return `{${fields.map(name => `${JSON.stringify(name)}:${canonicalJson(value[name] ?? null)}`).join(',')}}`;
}
