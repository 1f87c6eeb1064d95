import type { Field } from './metadata.ts';

/** How several records are asked for at once: `Key in (...)`, `Key eq ... or ...`, or one URL per record. */
export type BatchMethod = 'in' | 'or' | 'key';

/**
 * Writes a key as an OData literal of the key field's type. Strings are quoted and their quotes doubled; numbers and GUIDs stand plain.
 * @returns undefined when the text cannot be a value of that type, so that no such record can exist.
 */
export function keyLiteral(field: Field, key: string): string | undefined {
  switch (field.type) {
    case 'Edm.Byte':
    case 'Edm.SByte':
    case 'Edm.Int16':
    case 'Edm.Int32':
    case 'Edm.Int64':
      return /^-?\d{1,20}$/.test(key) ? key : undefined;
    case 'Edm.Decimal':
      return /^-?\d+(\.\d+)?$/.test(key) ? key : undefined;
    case 'Edm.Guid':
      return /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i.test(key) ? key : undefined;
    default:
      return `'${key.replaceAll("'", "''")}'`;
  }
}

/** Percent-encodes for a path segment or a query value; `'`, `(` and `)` too, which some proxies rewrite. */
export function encode(text: string): string {
  return encodeURIComponent(text).replace(/['()!*]/g, c => `%${c.charCodeAt(0).toString(16).toUpperCase()}`);
}

/** The URL of one record: `Resource('key')`. */
export function recordUrl(base: string, resource: string, literal: string): string {
  return `${base}/${encode(resource)}(${encode(literal)})`;
}

/** The URL of a collection with query options; values are encoded here. */
export function collectionUrl(
  base: string,
  resource: string,
  options: Readonly<Record<string, string>>,
): string {
  const query = Object.entries(options).map(([name, value]) => `${name}=${encode(value)}`);
  return `${base}/${encode(resource)}${query.length > 0 ? `?${query.join('&')}` : ''}`;
}

/** The filter that finds these records and no others. */
export function batchFilter(method: 'in' | 'or', field: Field, literals: readonly string[]): string {
  if (method === 'in' && literals.length > 1) return `${field.name} in (${literals.join(',')})`;
  return literals.map(literal => `${field.name} eq ${literal}`).join(' or ');
}

/** True when no server or proxy is known to treat the key specially in a path (encoded slashes, dots, percent signs, ...). */
export function isPlainKey(key: string): boolean {
  return /^[A-Za-z0-9_~-]+$/.test(key);
}
