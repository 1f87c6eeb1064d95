/** A JSON number that a JavaScript number would change: too many digits, or an exponent out of range. */
export class ExactDecimal {
  /** The number exactly as it was written. */
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }

  toString(): string {
    return this.text;
  }

  /** @throws TypeError always, so that `JSON.stringify` never writes a rounded or quoted number; use `stringifyExact`. */
  toJSON(): never {
    throw new TypeError('An ExactDecimal is written by stringifyExact.');
  }
}

/** A JSON value whose numbers are exact: integers past 2^53 are bigint, other numbers that would change are ExactDecimal. */
export type JsonValue =
  | null
  | boolean
  | number
  | bigint
  | string
  | ExactDecimal
  | JsonValue[]
  | { [name: string]: JsonValue };

/** A JSON object with exact numbers. */
export type JsonObject = { [name: string]: JsonValue };

/**
 * Reads JSON without changing any number (Edm.Int64 and Edm.Decimal may be written as plain JSON numbers).
 * Numbers that a double holds exactly stay numbers; other integers become bigint, other numbers ExactDecimal.
 * @throws SyntaxError when the text is not exactly one JSON value.
 */
export function parseExact(text: string): JsonValue {
  // JSON.parse is some ten times as fast and exact for short numbers; only a long run of digits or an exponent can be changed by it.
  if (!MAY_LOSE_DIGITS.test(text)) return JSON.parse(text) as JsonValue;
  const reader: Reader = { text, at: 0 };
  const value = readValue(reader, 0);
  skipSpace(reader);
  if (reader.at !== text.length) throw unexpected(reader);
  return value;
}

/** Writes a value read by `parseExact` back to JSON with the same digits. */
export function stringifyExact(value: JsonValue): string {
  try {
    return JSON.stringify(value);
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    return write(value);
  }
}

/** True for a JSON object (not null, not an array, not a number object). */
export function isJsonObject(value: JsonValue | undefined): value is JsonObject {
  return (
    typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof ExactDecimal)
  );
}

const MAY_LOSE_DIGITS = /[\d.]{16,}|\d[eE][+-]?\d/;
const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const SPACE = /[ \t\n\r]*/y;
const MAX_DEPTH = 200;

interface Reader {
  readonly text: string;
  at: number;
}

function unexpected(reader: Reader): SyntaxError {
  const what = reader.at >= reader.text.length ? 'the end' : JSON.stringify(reader.text.charAt(reader.at));
  return new SyntaxError(`Unexpected ${what} at character ${reader.at} of the JSON.`);
}

function skipSpace(reader: Reader): void {
  SPACE.lastIndex = reader.at;
  SPACE.test(reader.text);
  reader.at = SPACE.lastIndex;
}

function readValue(reader: Reader, depth: number): JsonValue {
  if (depth > MAX_DEPTH) throw new SyntaxError(`The JSON is nested deeper than ${MAX_DEPTH}.`);
  skipSpace(reader);
  switch (reader.text.charAt(reader.at)) {
    case '{':
      return readObject(reader, depth);
    case '[':
      return readArray(reader, depth);
    case '"':
      return readString(reader);
    case 't':
      return readWord(reader, 'true', true);
    case 'f':
      return readWord(reader, 'false', false);
    case 'n':
      return readWord(reader, 'null', null);
    default:
      return readNumber(reader);
  }
}

function readWord<T extends boolean | null>(reader: Reader, word: string, value: T): T {
  if (!reader.text.startsWith(word, reader.at)) throw unexpected(reader);
  reader.at += word.length;
  return value;
}

function readNumber(reader: Reader): number | bigint | ExactDecimal {
  NUMBER.lastIndex = reader.at;
  const match = NUMBER.exec(reader.text);
  if (!match) throw unexpected(reader);
  reader.at = NUMBER.lastIndex;
  return exactNumber(match[0]);
}

/** The exact value of one JSON number: a number where a double keeps every digit, else bigint or ExactDecimal. */
export function exactNumber(text: string): number | bigint | ExactDecimal {
  const value = Number(text);
  if (/^-?\d+$/.test(text)) return Number.isSafeInteger(value) ? value : BigInt(text);
  const digits = text
    .replace(/[eE].*$/, '')
    .replace(/[-.]/g, '')
    .replace(/^0+/, '');
  // Any decimal of 15 significant digits survives the way through a double and back.
  const kept = digits.length <= 15 && Number.isFinite(value) && (value !== 0 || digits === '');
  return kept ? value : new ExactDecimal(text);
}

function readString(reader: Reader): string {
  const { text } = reader;
  const start = reader.at;
  let end = text.indexOf('"', start + 1);
  while (end !== -1 && isEscaped(text, start, end)) end = text.indexOf('"', end + 1);
  if (end === -1) {
    reader.at = text.length;
    throw unexpected(reader);
  }
  reader.at = end + 1;
  // JSON.parse knows every escape and refuses raw control characters.
  return JSON.parse(text.slice(start, end + 1)) as string;
}

function isEscaped(text: string, start: number, quote: number): boolean {
  let slashes = 0;
  for (let at = quote - 1; at > start && text.charCodeAt(at) === 92; at--) slashes++;
  return slashes % 2 === 1;
}

function readArray(reader: Reader, depth: number): JsonValue[] {
  const items: JsonValue[] = [];
  reader.at++;
  skipSpace(reader);
  if (reader.text.charAt(reader.at) === ']') {
    reader.at++;
    return items;
  }
  for (;;) {
    items.push(readValue(reader, depth + 1));
    if (endsHere(reader, ']')) return items;
  }
}

function readObject(reader: Reader, depth: number): JsonObject {
  const object: JsonObject = {};
  reader.at++;
  skipSpace(reader);
  if (reader.text.charAt(reader.at) === '}') {
    reader.at++;
    return object;
  }
  for (;;) {
    skipSpace(reader);
    if (reader.text.charAt(reader.at) !== '"') throw unexpected(reader);
    const name = readString(reader);
    skipSpace(reader);
    if (reader.text.charAt(reader.at) !== ':') throw unexpected(reader);
    reader.at++;
    define(object, name, readValue(reader, depth + 1));
    if (endsHere(reader, '}')) return object;
  }
}

function endsHere(reader: Reader, close: string): boolean {
  skipSpace(reader);
  const next = reader.text.charAt(reader.at);
  if (next !== ',' && next !== close) throw unexpected(reader);
  reader.at++;
  return next === close;
}

function define(object: JsonObject, name: string, value: JsonValue): void {
  // As JSON.parse does: a field named __proto__ is a field, not the prototype.
  if (name === '__proto__') {
    Object.defineProperty(object, name, { value, enumerable: true, writable: true, configurable: true });
  } else object[name] = value;
}

function write(value: JsonValue): string {
  if (typeof value === 'bigint') return value.toString();
  if (value instanceof ExactDecimal) return value.text;
  if (Array.isArray(value)) return `[${value.map(write).join(',')}]`;
  if (typeof value === 'object' && value !== null) {
    const fields = Object.entries(value).map(([name, field]) => `${JSON.stringify(name)}:${write(field)}`);
    return `{${fields.join(',')}}`;
  }
  return JSON.stringify(value);
}
