import type { Json, JsonObject } from '../http/exact-json.ts';
import type { IsOn } from './switches.ts';

/** A filter ready to be asked of a row. Null stands for the third truth value. */
export type Predicate = (row: JsonObject) => boolean | null;

/** A filter that is wrong. */
export class BadFilter extends Error {}

type Value = Json | Date;
type Evaluate = (row: JsonObject, scope: Map<string, Json>) => Value;
type Reader = { text: string; at: number; fields: ReadonlySet<string>; on: IsOn };

const tokens = {
  blank: /\s+/y,
  time: /\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:\d\d)/y,
  date: /\d{4}-\d\d-\d\d/y,
  decimal: /-?\d+\.\d+/y,
  integer: /-?\d+/y,
  text: /(?:[A-Za-z_][\w.]*)?'(?:[^']|'')*'/y,
  name: /[A-Za-z_]\w*/y,
  mark: /[(),:/]/y,
};

/**
 * Reads the part of OData's filter language that the rules use. It is the test server's own reader, kept small on
 * purpose.
 * @throws BadFilter when the text is wrong or names an unknown field.
 */
export function readFilter(text: string, fields: ReadonlySet<string>, on: IsOn): Predicate {
  const reader: Reader = { text, at: 0, fields, on };
  const evaluate = on('or-before-and')
    ? readJoined(reader, ['and', 'or'])
    : readJoined(reader, ['or', 'and']);
  skipBlank(reader);
  if (reader.at !== text.length) throw new BadFilter(`unexpected text at ${reader.at}`);
  return row => {
    const value = evaluate(row, new Map());
    return value === true ? true : value === null ? null : false;
  };
}

function take(reader: Reader, token: RegExp): string | undefined {
  token.lastIndex = reader.at;
  const found = token.exec(reader.text)?.[0];
  if (found !== undefined) reader.at += found.length;
  return found;
}

function skipBlank(reader: Reader): void {
  take(reader, tokens.blank);
}

function takeWord(reader: Reader, word: string): boolean {
  const at = reader.at;
  skipBlank(reader);
  if (take(reader, tokens.name) === word) return true;
  reader.at = at;
  return false;
}

function takeMark(reader: Reader, mark: string): boolean {
  const at = reader.at;
  skipBlank(reader);
  if (take(reader, tokens.mark) === mark) return true;
  reader.at = at;
  return false;
}

function readJoined(reader: Reader, words: readonly string[]): Evaluate {
  const [word, ...tighter] = words;
  if (word === undefined) return readNot(reader, words);
  let left = readJoined(reader, tighter);
  while (takeWord(reader, word)) {
    const first = left;
    const second = readJoined(reader, tighter);
    left = (row, scope) => join(word, first(row, scope), second(row, scope));
  }
  return left;
}

function join(word: string, left: Value, right: Value): boolean | null {
  const decisive = word === 'or';
  if (left === decisive || right === decisive) return decisive;
  return left === null || right === null ? null : !decisive;
}

function readNot(reader: Reader, words: readonly string[]): Evaluate {
  if (!takeWord(reader, 'not')) return readComparison(reader, words);
  const inner = readNot(reader, words);
  if (reader.on('not-ignored')) return inner;
  return (row, scope) => {
    const value = inner(row, scope);
    return value === null ? null : value !== true;
  };
}

function readComparison(reader: Reader, words: readonly string[]): Evaluate {
  if (takeMark(reader, '(')) {
    const inner = readJoined(reader, reader.on('or-before-and') ? ['and', 'or'] : ['or', 'and']);
    if (!takeMark(reader, ')')) throw new BadFilter('a parenthesis is not closed');
    return inner;
  }
  const start = reader.at;
  const left = readOperand(reader, words);
  const field = reader.text.slice(start, reader.at).trim();
  for (const operator of ['eq', 'ne', 'gt', 'ge', 'lt', 'le', 'has']) {
    if (!takeWord(reader, operator)) continue;
    const right = readOperand(reader, words);
    return (row, scope) => compare(reader.on, field, operator, left(row, scope), right(row, scope));
  }
  if (takeWord(reader, 'in')) return readIn(reader, left, words);
  return left;
}

function readIn(reader: Reader, left: Evaluate, words: readonly string[]): Evaluate {
  if (reader.on('in-unsupported')) throw new BadFilter('in is not supported');
  if (!takeMark(reader, '(')) throw new BadFilter('in needs a list');
  const items: Evaluate[] = [];
  do items.push(readOperand(reader, words));
  while (takeMark(reader, ','));
  if (!takeMark(reader, ')')) throw new BadFilter('the list is not closed');
  return (row, scope) => items.some(item => item(row, scope) === left(row, scope));
}

function readOperand(reader: Reader, words: readonly string[]): Evaluate {
  skipBlank(reader);
  const literal = readLiteral(reader);
  if (literal !== undefined) return () => literal;
  const name = take(reader, tokens.name);
  if (name === undefined) throw new BadFilter(`an operand is missing at ${reader.at}`);
  if (name === 'true' || name === 'false') return () => name === 'true';
  if (name === 'null') return () => null;
  if (name === 'now' && takeMark(reader, '(') && takeMark(reader, ')')) {
    if (reader.on('now-unsupported')) throw new BadFilter('now() is not supported');
    return () => new Date();
  }
  if (takeMark(reader, '/')) return readLambda(reader, fieldOf(reader, name), words);
  if (/^[a-z]$/.test(name)) return (_row, scope) => scope.get(name) ?? null;
  const field = fieldOf(reader, name);
  return row => row[field] ?? null;
}

function fieldOf(reader: Reader, name: string): string {
  if (reader.fields.has(name)) return name;
  const other = [...reader.fields].find(each => each.toLowerCase() === name.toLowerCase());
  if (other !== undefined && reader.on('names-ignore-case')) return other;
  throw new BadFilter(`there is no field ${name}`);
}

function readLiteral(reader: Reader): Value | undefined {
  const time = take(reader, tokens.time);
  if (time !== undefined) {
    return new Date(reader.on('timestamp-offset-ignored') ? time.replace(/[+-]\d\d:\d\d$/, 'Z') : time);
  }
  const date = take(reader, tokens.date);
  if (date !== undefined) return date;
  const decimal = take(reader, tokens.decimal);
  if (decimal !== undefined) return Number(decimal);
  const integer = take(reader, tokens.integer);
  if (integer !== undefined) return BigInt(integer);
  const text = take(reader, tokens.text);
  return text === undefined ? undefined : text.slice(text.indexOf("'") + 1, -1).replaceAll("''", "'");
}

function readLambda(reader: Reader, field: string, words: readonly string[]): Evaluate {
  const kind = take(reader, tokens.name);
  if ((kind !== 'any' && kind !== 'all') || !takeMark(reader, '('))
    throw new BadFilter('any or all is expected');
  if (kind === 'any' && takeMark(reader, ')')) return row => itemsOf(row[field]).length > 0;
  skipBlank(reader);
  const variable = take(reader, tokens.name) ?? '';
  if (!takeMark(reader, ':')) throw new BadFilter('a colon is expected');
  const body = readJoined(reader, words.length === 0 ? ['or', 'and'] : words);
  if (!takeMark(reader, ')')) throw new BadFilter('a parenthesis is not closed');
  const { on } = reader;
  return (row, scope) => {
    const items = itemsOf(row[field]);
    const test = (item: Json) => body(row, new Map(scope).set(variable, item)) === true;
    if (kind === 'any') return on('any-wrong') ? items.slice(0, 1).some(test) : items.some(test);
    return on('all-empty-false') && items.length === 0 ? false : items.every(test);
  };
}

function itemsOf(value: Json | undefined): Json[] {
  return Array.isArray(value) ? value : [];
}

function compare(on: IsOn, field: string, operator: string, left: Value, right: Value): boolean | null {
  const holds = compareRightly(on, operator, left, right);
  if (on('sequence-le-as-lt') && typeof left === 'bigint' && operator === 'le')
    return left < (right as bigint);
  const isWrong =
    (on('string-ne-wrong') && field === 'ResourceName' && operator === 'ne') ||
    (on('decimal-gt-wrong') && field === 'ListPrice' && operator === 'gt') ||
    (on('date-ge-wrong') && field === 'CloseDate' && operator === 'ge') ||
    (on('boolean-eq-wrong') && field === 'WaterfrontYN') ||
    (on('enum-has-wrong') && operator === 'has') ||
    (on('lookup-ne-wrong') && field === 'PropertyType' && operator === 'ne');
  return isWrong && holds !== null ? !holds : holds;
}

function compareRightly(on: IsOn, operator: string, left: Value, right: Value): boolean | null {
  if (left === null || right === null) {
    if (operator === 'eq') return left === right;
    return operator === 'ne' ? left !== right : false;
  }
  const [a, b] = alike(on, left, right);
  if (operator === 'eq' || operator === 'has') return a === b;
  if (operator === 'ne') return a !== b;
  if (operator === 'gt') return a > b;
  if (operator === 'ge') return a >= b;
  return operator === 'lt' ? a < b : a <= b;
}

type Comparable = string | number | bigint | boolean;

function alike(on: IsOn, left: Value, right: Value): [Comparable, Comparable] {
  if (right instanceof Date) {
    return [left instanceof Date ? left.getTime() : Date.parse(String(left)), right.getTime()];
  }
  const [a, b] = [left as Comparable, right as Comparable];
  if (typeof a === 'number' || typeof b === 'number') return [Number(a), Number(b)];
  if (typeof a === 'string' && typeof b === 'string' && on('strings-ignore-case')) {
    return [a.toLowerCase(), b.toLowerCase()];
  }
  return [a, b];
}
