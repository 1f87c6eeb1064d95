/** A JSON value in which every number without fraction or exponent is a bigint, so that Int64 keeps all its digits. */
export type Json = null | boolean | string | number | bigint | Json[] | { [name: string]: Json };

/** A JSON object. */
export type JsonObject = { [name: string]: Json };

const whitespace = /[\t\n\r ]*/y;
// Every character from the blank on, without the quote and the backslash, and the escapes.
const stringToken = /"[ !#-[\]-\uffff]*(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[ !#-[\]-\uffff]*)*"/y;
const numberToken = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y;
const literalToken = /true|false|null/y;
const maxDepth = 200;

/**
 * Reads JSON without rounding: `JSON.parse` turns 9007199254740993 into 9007199254740992, which is exactly the fault
 * that a sequence check must be able to see.
 * @throws SyntaxError with the position when the text is not JSON.
 */
export function parseExactJson(text: string): Json {
  const reader = { text, at: text.charCodeAt(0) === 0xfeff ? 1 : 0 };
  const value = readValue(reader, 0);
  take(reader, whitespace);
  if (reader.at !== text.length) throw unexpected(reader);
  return value;
}

type Reader = { text: string; at: number };

function take(reader: Reader, token: RegExp): string | undefined {
  token.lastIndex = reader.at;
  const found = token.exec(reader.text)?.[0];
  if (found !== undefined) reader.at += found.length;
  return found;
}

function unexpected(reader: Reader): SyntaxError {
  return new SyntaxError(`not JSON at character ${reader.at}`);
}

function readValue(reader: Reader, depth: number): Json {
  if (depth > maxDepth) throw new SyntaxError(`nested deeper than ${maxDepth} levels`);
  take(reader, whitespace);
  const first = reader.text[reader.at];
  if (first === '{') return readObject(reader, depth);
  if (first === '[') return readArray(reader, depth);
  if (first === '"') return readString(reader);
  const literal = take(reader, literalToken);
  if (literal !== undefined) return literal === 'null' ? null : literal === 'true';
  const digits = take(reader, numberToken);
  if (digits === undefined || digits === '') throw unexpected(reader);
  return /[.eE]/.test(digits) ? Number(digits) : BigInt(digits);
}

function readString(reader: Reader): string {
  const token = take(reader, stringToken);
  if (token === undefined) throw unexpected(reader);
  return token.includes('\\') ? String(JSON.parse(token)) : token.slice(1, -1);
}

function readArray(reader: Reader, depth: number): Json[] {
  const items: Json[] = [];
  reader.at += 1;
  take(reader, whitespace);
  if (skipCharacter(reader, ']')) return items;
  for (;;) {
    items.push(readValue(reader, depth + 1));
    take(reader, whitespace);
    if (skipCharacter(reader, ']')) return items;
    if (!skipCharacter(reader, ',')) throw unexpected(reader);
  }
}

function readObject(reader: Reader, depth: number): JsonObject {
  const members: JsonObject = Object.create(null);
  reader.at += 1;
  take(reader, whitespace);
  if (skipCharacter(reader, '}')) return members;
  for (;;) {
    take(reader, whitespace);
    const name = readString(reader);
    take(reader, whitespace);
    if (!skipCharacter(reader, ':')) throw unexpected(reader);
    members[name] = readValue(reader, depth + 1);
    take(reader, whitespace);
    if (skipCharacter(reader, '}')) return members;
    if (!skipCharacter(reader, ',')) throw unexpected(reader);
  }
}

function skipCharacter(reader: Reader, character: string): boolean {
  if (reader.text[reader.at] !== character) return false;
  reader.at += 1;
  return true;
}

/** Writes JSON with every bigint as a plain number, digit for digit. */
export function writeExactJson(value: Json): string {
  if (typeof value === 'bigint') return value.toString();
  if (Array.isArray(value)) return `[${value.map(writeExactJson).join(',')}]`;
  if (value !== null && typeof value === 'object') {
    const members = Object.entries(value).map(
      ([name, item]) => `${JSON.stringify(name)}:${writeExactJson(item)}`,
    );
    return `{${members.join(',')}}`;
  }
  return JSON.stringify(value);
}

/** Tells whether a value is a JSON object. */
export function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
