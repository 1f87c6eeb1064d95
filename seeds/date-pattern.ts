import { PulsefeedError } from '../server/base/errors.ts';

/**
 * Reads one date. Returns it as ISO 8601 in UTC with up to six digits of a second, or undefined when the text is not
 * such a date or the day is not in the calendar. Years 1 to 9999.
 */
export type DateReader = (text: string) => string | undefined;

interface Parts {
  readonly year: number;
  readonly month: number;
  readonly day: number;
  readonly hour: number;
  readonly minute: number;
  readonly second: number;
  /** Digits after the decimal point of the second. */
  readonly fraction: string;
  readonly offsetMinutes: number;
}

/**
 * ISO 8601: `2015-03-07`, `2015-03-07T14:05`, `2015-03-07 14:05:09.123456+01:00`. Without an offset the time is UTC,
 * without a time it is midnight.
 */
export const isoDate: DateReader = text => {
  const match = isoShape.exec(text);
  if (match === null) return undefined;
  const [, year, month, day, hour = '0', minute = '0', second = '0', fraction = '', offset = 'Z'] = match;
  const offsetMinutes = readOffset(offset);
  if (offsetMinutes === undefined) return undefined;
  return toIso({
    year: Number(year),
    month: Number(month),
    day: Number(day),
    hour: Number(hour),
    minute: Number(minute),
    second: Number(second),
    fraction,
    offsetMinutes,
  });
};

const isoShape =
  /^(\d{4})-(\d\d)-(\d\d)(?:[Tt ](\d\d):(\d\d)(?::(\d\d)(?:[.,](\d{1,9}))?)?(Z|z|[+-]\d\d(?::?\d\d)?)?)?$/;

/** What each letter run stands for, and the digits it takes. */
const letters: Readonly<Record<string, { readonly part: keyof Parts; readonly digits: string }>> = {
  yyyy: { part: 'year', digits: String.raw`\d{4}` },
  yy: { part: 'year', digits: String.raw`\d{2}` },
  MM: { part: 'month', digits: String.raw`\d{2}` },
  M: { part: 'month', digits: String.raw`\d{1,2}` },
  dd: { part: 'day', digits: String.raw`\d{2}` },
  d: { part: 'day', digits: String.raw`\d{1,2}` },
  HH: { part: 'hour', digits: String.raw`\d{2}` },
  H: { part: 'hour', digits: String.raw`\d{1,2}` },
  mm: { part: 'minute', digits: String.raw`\d{2}` },
  ss: { part: 'second', digits: String.raw`\d{2}` },
  S: { part: 'fraction', digits: String.raw`\d{1}` },
  SS: { part: 'fraction', digits: String.raw`\d{2}` },
  SSS: { part: 'fraction', digits: String.raw`\d{3}` },
  SSSSSS: { part: 'fraction', digits: String.raw`\d{6}` },
};

/**
 * A reader for a pattern of `yyyy yy MM M dd d HH H mm ss S..SSSSSS`; other text stands for itself, letters between
 * single quotes, `''` for a quote. Dates are UTC. Of two-digit years 00 to 68 are 2000 to 2068, 69 to 99 are 1969 to
 * 1999. @throws EE-700 when the pattern has other letters, names a part twice, or lacks year, month or day.
 */
export function datePattern(pattern: string): DateReader {
  const refuse = (reason: string) =>
    new PulsefeedError('EE-700', `--modified-format ${JSON.stringify(pattern)}: ${reason}`);
  const parts: (keyof Parts)[] = [];
  let shape = '';
  for (const [token] of pattern.matchAll(/'(?:[^']|'')*'|'|([A-Za-z])\1*|[^A-Za-z']+/g)) {
    const letter = letters[token];
    if (letter !== undefined) {
      if (parts.includes(letter.part)) throw refuse(`names the ${letter.part} twice`);
      parts.push(letter.part);
      shape += `(${letter.digits})`;
    } else if (/^[A-Za-z]/.test(token)) {
      throw refuse(`${token} stands for nothing; put letters that stand for themselves between quotes`);
    } else if (token === "'") {
      throw refuse('a quote is not closed');
    } else {
      shape += escapeRegExp(unquote(token));
    }
  }
  for (const part of ['year', 'month', 'day'] as const) {
    if (!parts.includes(part)) throw refuse(`lacks the ${part}`);
  }
  const compiled = new RegExp(`^${shape}$`);
  const shortYear = !pattern.includes('yyyy');
  return text => {
    const match = compiled.exec(text);
    if (match === null) return undefined;
    const digits = (part: keyof Parts) => match[parts.indexOf(part) + 1] ?? '0';
    const number = (part: keyof Parts) => (parts.includes(part) ? Number(digits(part)) : 0);
    const year = number('year');
    return toIso({
      year: shortYear ? year + (year < 69 ? 2000 : 1900) : year,
      month: number('month'),
      day: number('day'),
      hour: number('hour'),
      minute: number('minute'),
      second: number('second'),
      fraction: parts.includes('fraction') ? digits('fraction') : '',
      offsetMinutes: 0,
    });
  };
}

function unquote(token: string): string {
  if (token === "''") return "'";
  return token.startsWith("'") ? token.slice(1, -1).replaceAll("''", "'") : token;
}

function escapeRegExp(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/]/g, String.raw`\$&`);
}

function readOffset(offset: string): number | undefined {
  if (offset === 'Z' || offset === 'z') return 0;
  const hours = Number(offset.slice(1, 3));
  const minutes = Number(offset.slice(3).replace(':', ''));
  if (hours > 15 || minutes > 59) return undefined;
  return (offset.startsWith('-') ? -1 : 1) * (hours * 60 + minutes);
}

function toIso(parts: Parts): string | undefined {
  const { year, month, day, hour, minute, second } = parts;
  if (hour > 23 || minute > 59 || second > 59) return undefined;
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  if (date.getUTCMonth() !== month - 1 || date.getUTCDate() !== day) return undefined;
  date.setUTCHours(hour, minute - parts.offsetMinutes, second);
  const shifted = date.getUTCFullYear();
  if (shifted < 1 || shifted > 9999) return undefined;
  const fraction = parts.fraction.slice(0, 6);
  return `${date.toISOString().slice(0, 19)}${fraction === '' ? '' : `.${fraction}`}Z`;
}
