import type { LiteralClass } from './ast.ts';
import { daysInMonth } from './calendar.ts';
import { ExpressionError } from './expression-error.ts';

/** A place in a text. The reading functions below move `pos` over what they accept. */
export interface Scanner {
  readonly text: string;
  pos: number;
}

/** A lexical element where an operand may begin. `end` is the scanner's new position. */
export type Token =
  | {
      readonly kind: 'literal';
      readonly literal: LiteralClass;
      readonly text: string;
      readonly enumType?: string;
    }
  | { readonly kind: 'word'; readonly text: string }
  | { readonly kind: 'at'; readonly name: string }
  | { readonly kind: 'dollar'; readonly name: string }
  | { readonly kind: 'mark'; readonly text: string }
  | { readonly kind: 'end' };

const WORD = /[\p{L}\p{Nl}_][\p{L}\p{Nl}\p{Nd}\p{Mn}\p{Mc}\p{Pc}\p{Cf}]*/uy;
const WORD_CHARACTER = /[\p{L}\p{Nl}\p{Nd}\p{Mn}\p{Mc}\p{Pc}\p{Cf}]/uy;
const GUID = /[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{12}/y;
const DATE = /(-?(?:0\d{3}|[1-9]\d{3,5}))-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])/y;
const CLOCK = /[Tt]([01]\d|2[0-3]):[0-5]\d(:([0-5]\d|60)(\.\d{1,12})?)?/y;
const OFFSET = /[Zz]|[+-]([01]\d|2[0-3]):[0-5]\d/y;
const TIME_OF_DAY = /([01]\d|2[0-3]):[0-5]\d(:[0-5]\d(\.\d{1,12})?)?/y;
const NUMBER = /[+-]?\d+(\.\d+)?([eE][+-]?\d+)?/y;
const DURATION = /^-?P(\d+D)?(T(\d+H)?(\d+M)?(\d+(\.\d{1,12})?S)?)?$/i;
const BINARY = /^(?:[A-Za-z0-9_-]{4})*(?:[A-Za-z0-9_-]{2}(?:==)?|[A-Za-z0-9_-]{3}=?)?$/;
const MEMBER = String.raw`(?:[\p{L}\p{Nl}_][\p{L}\p{Nl}\p{Nd}\p{Mn}\p{Mc}\p{Pc}\p{Cf}]*|[+-]?\d{1,19})`;
const ENUM_VALUE = new RegExp(`^${MEMBER}(?:,${MEMBER})*$`, 'u');
const MAX_IDENTIFIER = 128;

function match(pattern: RegExp, text: string, pos: number): string | null {
  pattern.lastIndex = pos;
  const found = pattern.exec(text);
  return found === null ? null : found[0];
}

function isDigit(code: number): boolean {
  return code >= 48 && code <= 57;
}

function isAsciiWord(code: number): boolean {
  return (code >= 97 && code <= 122) || (code >= 65 && code <= 90) || isDigit(code) || code === 95;
}

/** True when a character that continues a word stands at `pos`. */
function wordContinues(text: string, pos: number): boolean {
  const code = text.charCodeAt(pos);
  if (code < 128) return isAsciiWord(code);
  return pos < text.length && match(WORD_CHARACTER, text, pos) !== null;
}

/** Skips spaces and tabs, the only white space of the grammar (SP and HTAB); true when there were any. */
export function skipSpace(s: Scanner): boolean {
  const start = s.pos;
  for (;;) {
    const code = s.text.charCodeAt(s.pos);
    if (code !== 32 && code !== 9) return s.pos > start;
    s.pos += 1;
  }
}

/** Reads one identifier, or returns null. @throws ExpressionError when it is longer than the standard's 128 characters. */
export function readIdentifier(s: Scanner): string | null {
  const { text } = s;
  const start = s.pos;
  let end = start;
  if (!isDigit(text.charCodeAt(start))) {
    while (isAsciiWord(text.charCodeAt(end))) end += 1;
  }
  if (end === start || text.charCodeAt(end) >= 128) end = start + (match(WORD, text, start) ?? '').length;
  if (end === start) return null;
  if (end - start > MAX_IDENTIFIER && [...text.slice(start, end)].length > MAX_IDENTIFIER) {
    throw new ExpressionError('limit', `A name has at most ${MAX_IDENTIFIER} characters.`, start);
  }
  s.pos = end;
  return text.slice(start, end);
}

/** Reads an identifier or a dotted qualified name, or returns null. */
export function readName(s: Scanner): string | null {
  const start = s.pos;
  if (readIdentifier(s) === null) return null;
  while (s.text.charCodeAt(s.pos) === 46) {
    s.pos += 1;
    if (readIdentifier(s) === null) {
      throw new ExpressionError('syntax', 'A name must follow the dot.', s.pos, 'a name');
    }
  }
  return s.text.slice(start, s.pos);
}

/** Reads a string in single quotes, a doubled quote standing for one; `pos` is on the first quote. */
export function readQuoted(s: Scanner): string {
  const { text } = s;
  const start = s.pos;
  let end = start + 1;
  let doubled = false;
  for (;;) {
    end = text.indexOf("'", end);
    if (end < 0)
      throw new ExpressionError('syntax', 'The string that starts here is not closed.', start, "a closing '");
    if (text.charCodeAt(end + 1) !== 39) break;
    doubled = true;
    end += 2;
  }
  s.pos = end + 1;
  const content = text.slice(start + 1, end);
  checkCharacters(content, start);
  return doubled ? content.replaceAll("''", "'") : content;
}

/** Neither NUL nor half a surrogate pair can be stored in the database, so neither can ever be equal to anything there. */
function checkCharacters(content: string, at: number): void {
  if (content.includes('\u0000'))
    throw new ExpressionError('syntax', 'A string cannot hold the character NUL.', at);
  if (/\p{Surrogate}/u.test(content)) {
    throw new ExpressionError('syntax', 'A string cannot hold half of a surrogate pair.', at);
  }
}

/** Reads a JSON string; `pos` is on the first double quote. */
export function readJsonString(s: Scanner): string {
  const start = s.pos;
  let end = start + 1;
  for (; end < s.text.length && s.text.charCodeAt(end) !== 34; end += 1) {
    if (s.text.charCodeAt(end) === 92) end += 1;
  }
  if (end >= s.text.length) {
    throw new ExpressionError('syntax', 'The string that starts here is not closed.', start, 'a closing "');
  }
  let content: unknown;
  try {
    content = JSON.parse(s.text.slice(start, end + 1));
  } catch {
    throw new ExpressionError('syntax', 'This is not a JSON string.', start, 'a JSON string');
  }
  const value = String(content);
  checkCharacters(value, start);
  s.pos = end + 1;
  return value;
}

/** Reads the next lexical element where an operand may begin; the scanner stands behind it afterwards. */
export function readToken(s: Scanner): Token {
  const { text } = s;
  if (s.pos >= text.length) return { kind: 'end' };
  const code = text.charCodeAt(s.pos);
  if (code === 39) return { kind: 'literal', literal: 'string', text: readQuoted(s) };
  if (isDigit(code) || ((code === 43 || code === 45) && isDigit(text.charCodeAt(s.pos + 1))))
    return readNumeric(s);
  if (code === 45 && match(/-INF/y, text, s.pos) !== null && !wordContinues(text, s.pos + 4)) {
    s.pos += 4;
    return { kind: 'literal', literal: 'number', text: '-INF' };
  }
  if (code === 64 || code === 36) return readSigil(s, code);
  if (text.charCodeAt(s.pos + 8) === 45) {
    const guid = readGuid(s);
    if (guid !== null) return guid;
  }
  const start = s.pos;
  const name = readName(s);
  if (name !== null) return text.charCodeAt(s.pos) === 39 ? readTyped(s, name, start) : wordToken(name);
  const point = String.fromCodePoint(text.codePointAt(s.pos) ?? 0);
  s.pos += point.length;
  return { kind: 'mark', text: point };
}

function wordToken(name: string): Token {
  switch (name) {
    case 'null':
      return { kind: 'literal', literal: 'null', text: name };
    case 'INF':
    case 'NaN':
      return { kind: 'literal', literal: 'number', text: name };
    default:
      return /^(?:true|false)$/i.test(name)
        ? { kind: 'literal', literal: 'boolean', text: name }
        : { kind: 'word', text: name };
  }
}

/** `@name`, `@namespace.name`, `$it` and the like. */
function readSigil(s: Scanner, code: number): Token {
  const at = s.pos;
  s.pos += 1;
  const name = readName(s);
  if (name !== null) return code === 64 ? { kind: 'at', name } : { kind: 'dollar', name };
  throw new ExpressionError('syntax', `A name must follow ${code === 64 ? '@' : '$'}.`, at + 1, 'a name');
}

function readGuid(s: Scanner): Token | null {
  const guid = match(GUID, s.text, s.pos);
  if (guid === null || wordContinues(s.text, s.pos + guid.length)) return null;
  s.pos += guid.length;
  return { kind: 'literal', literal: 'guid', text: guid };
}

/** A literal with a prefix, `duration'...'` or `Namespace.Type'...'`; the scanner is on the quote. */
function readTyped(s: Scanner, prefix: string, at: number): Token {
  const text = readQuoted(s);
  const bad = (expected: string): never => {
    throw new ExpressionError('syntax', `The value of this ${prefix} literal is not valid.`, at, expected);
  };
  switch (prefix.toLowerCase()) {
    case 'duration':
      if (!isDuration(text)) bad("an ISO 8601 duration of days and time, such as duration'P1DT12H'");
      return { kind: 'literal', literal: 'duration', text };
    case 'binary':
      if (!BINARY.test(text)) bad('base64url text');
      return { kind: 'literal', literal: 'binary', text };
    case 'geography':
    case 'geometry':
      throw new ExpressionError('unsupported', 'Geo literals are not supported.', at);
    default:
  }
  if (!prefix.includes('.')) {
    throw new ExpressionError(
      'syntax',
      `There is no literal with the prefix ${prefix}.`,
      at,
      'a literal or a name',
    );
  }
  if (!ENUM_VALUE.test(text)) bad('names of members or numbers, separated by commas');
  return { kind: 'literal', literal: 'enum', text, enumType: prefix };
}

/** True for the text between the quotes of a duration literal: days, hours, minutes, seconds, at least one of them. */
export function isDuration(text: string): boolean {
  return DURATION.test(text) && /\d/.test(text) && !/T$/i.test(text);
}

/** Numbers, dates, times and guids that begin with a digit or sign. */
function readNumeric(s: Scanner): Token {
  const { text } = s;
  const start = s.pos;
  let end = start + (isDigit(text.charCodeAt(start)) ? 0 : 1);
  while (isDigit(text.charCodeAt(end))) end += 1;
  const next = text.charCodeAt(end);
  if (text.charCodeAt(start + 8) === 45) {
    const guid = readGuid(s);
    if (guid !== null) return guid;
  }
  if (next === 45) return readDate(s);
  if (next === 58 && isDigit(text.charCodeAt(start)))
    return finish(s, TIME_OF_DAY, 'timeOfDay', 'a time of day hh:mm:ss');
  return finish(s, NUMBER, 'number', 'a number');
}

function finish(s: Scanner, pattern: RegExp, literal: LiteralClass, expected: string): Token {
  const found = match(pattern, s.text, s.pos);
  if (found === null) throw new ExpressionError('syntax', 'This literal is not valid.', s.pos, expected);
  const end = s.pos + found.length;
  checkBoundary(s.text, s.pos, end, expected);
  s.pos = end;
  return { kind: 'literal', literal, text: found };
}

/** A literal must not run into further letters or digits: `42L`, `1.`, `1.2.3`, `12:30x` are refused, not cut short. */
function checkBoundary(text: string, start: number, end: number, expected: string): void {
  const next = text.charAt(end);
  if (!wordContinues(text, end) && next !== '.' && next !== ':' && next !== "'") return;
  const suffix = /^[LlMmFfDd]$/.test(next) && !wordContinues(text, end + 1);
  const message = suffix
    ? `The suffix ${next} is of OData version 2; write the number alone: ${text.slice(start, end)}.`
    : `The literal ${text.slice(start, end)} is followed by ${next}.`;
  throw new ExpressionError('syntax', message, end, expected);
}

function readDate(s: Scanner): Token {
  const { text } = s;
  const start = s.pos;
  DATE.lastIndex = start;
  const found = DATE.exec(text);
  if (found === null) {
    throw new ExpressionError('syntax', 'This is not a date.', start, 'a date yyyy-mm-dd');
  }
  const [date, year, month, day] = found;
  if (Number(day) > daysInMonth(Number(year), Number(month))) {
    throw new ExpressionError('syntax', `There is no day ${date}.`, start, 'a day of the calendar');
  }
  const clockAt = start + date.length;
  const clock = match(CLOCK, text, clockAt);
  if (clock === null) {
    checkBoundary(text, start, clockAt, 'a date, or a date and time with its offset');
    s.pos = clockAt;
    return { kind: 'literal', literal: 'date', text: date };
  }
  const offsetAt = clockAt + clock.length;
  const offset = match(OFFSET, text, offsetAt);
  if (offset === null) throw missingOffset(text, offsetAt);
  const end = offsetAt + offset.length;
  checkBoundary(text, start, end, 'a date and time with its offset');
  s.pos = end;
  return { kind: 'literal', literal: 'dateTimeOffset', text: text.slice(start, end) };
}

function missingOffset(text: string, at: number): ExpressionError {
  const lostPlus = match(/ \d\d:\d\d/y, text, at) !== null;
  const message = lostPlus
    ? 'The offset of this date and time has lost its sign: in a URL + means a space, send it as %2B.'
    : 'This date and time has no offset, or its time is not valid.';
  return new ExpressionError('syntax', message, at, 'Z or an offset such as +02:00');
}
