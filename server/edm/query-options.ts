import { ExpressionError } from './expression-error.ts';

/** The system query options of OData 4.01, without their `$`. Whether one is served is for the caller to say. */
export type SystemOption =
  | 'apply'
  | 'compute'
  | 'count'
  | 'deltatoken'
  | 'expand'
  | 'filter'
  | 'format'
  | 'id'
  | 'index'
  | 'orderby'
  | 'schemaversion'
  | 'search'
  | 'select'
  | 'skip'
  | 'skiptoken'
  | 'top';

const SYSTEM_OPTIONS: ReadonlySet<string> = new Set<SystemOption>([
  'apply',
  'compute',
  'count',
  'deltatoken',
  'expand',
  'filter',
  'format',
  'id',
  'index',
  'orderby',
  'schemaversion',
  'search',
  'select',
  'skip',
  'skiptoken',
  'top',
]);

/** One option as given: the name decoded, the value decoded, and the raw text between the ampersands. */
export interface GivenOption {
  readonly name: string;
  readonly value: string;
  readonly raw: string;
}

/** A query string taken apart. Aliases are by name without `@`; `custom` and `aliases` keep what a nextLink must repeat. */
export interface QueryOptions {
  readonly system: ReadonlyMap<SystemOption, GivenOption>;
  readonly aliases: ReadonlyMap<string, string>;
  readonly custom: readonly GivenOption[];
  /** Every option in the order given, for links that repeat the request. */
  readonly all: readonly GivenOption[];
}

/**
 * Takes the raw query string of a URL (without the question mark) apart: at `&`, then at the first `=`, decoding names and
 * values exactly once. A plus means a space, as forms send it; a plus sign itself is `%2B`. Names of system options are
 * accepted in any case and without `$`. URL Conventions 4.01, sections 2 and 5.
 * @throws ExpressionError for an option given twice, an unknown `$option`, a missing value, and text that is no UTF-8; its
 * position is in the raw query.
 */
export function readQueryOptions(rawQuery: string): QueryOptions {
  const system = new Map<SystemOption, GivenOption>();
  const aliases = new Map<string, string>();
  const custom: GivenOption[] = [];
  const all: GivenOption[] = [];
  let at = 0;
  for (const raw of rawQuery.split('&')) {
    if (raw !== '') {
      const option = readOption(raw, at);
      all.push(option);
      file(option, at, system, aliases, custom);
    }
    at += raw.length + 1;
  }
  return { system, aliases, custom, all };
}

function readOption(raw: string, at: number): GivenOption & { readonly hasValue: boolean } {
  const equals = raw.indexOf('=');
  const hasValue = equals >= 0;
  const name = decodeOnce(hasValue ? raw.slice(0, equals) : raw, at);
  const value = hasValue ? decodeOnce(raw.slice(equals + 1), at + equals + 1) : '';
  return { name, value, raw, hasValue };
}

function file(
  option: GivenOption & { readonly hasValue: boolean },
  at: number,
  system: Map<SystemOption, GivenOption>,
  aliases: Map<string, string>,
  custom: GivenOption[],
): void {
  const { name, value, raw } = option;
  const given: GivenOption = { name, value, raw };
  if (name.startsWith('@')) {
    addAlias(name.slice(1), value, at, aliases);
    return;
  }
  const bare = (name.startsWith('$') ? name.slice(1) : name).toLowerCase();
  if (isSystemOption(bare)) {
    if (!option.hasValue)
      throw new ExpressionError('syntax', `The option $${bare} has no value.`, at, `$${bare}=...`);
    if (system.has(bare)) throw new ExpressionError('syntax', `The option $${bare} is given twice.`, at);
    system.set(bare, given);
    return;
  }
  if (name.startsWith('$'))
    throw new ExpressionError('unknown-name', `There is no query option ${name}.`, at);
  if (isSystemOption(bare.trim())) {
    throw new ExpressionError(
      'syntax',
      `White space stands beside the name of the option ${bare.trim()}.`,
      at,
    );
  }
  if (name === '') throw new ExpressionError('syntax', 'An option has no name.', at);
  custom.push(given);
}

function addAlias(name: string, value: string, at: number, aliases: Map<string, string>): void {
  if (!/^[\p{L}\p{Nl}_][\p{L}\p{Nl}\p{Nd}\p{Mn}\p{Mc}\p{Pc}\p{Cf}]*$/u.test(name)) {
    throw new ExpressionError('syntax', `@${name} is not a parameter alias.`, at, '@name');
  }
  if (aliases.has(name))
    throw new ExpressionError('syntax', `The parameter alias @${name} is given twice.`, at);
  aliases.set(name, value);
}

/** True for the name of a system option, lower case and without `$`. */
export function isSystemOption(name: string): name is SystemOption {
  return SYSTEM_OPTIONS.has(name);
}

/**
 * Decodes percent-encoding once, a plus being a space. @throws ExpressionError for a broken escape, bytes that are no UTF-8,
 * and NUL, which no text in the database can hold.
 */
export function decodeOnce(text: string, at = 0): string {
  let decoded: string;
  try {
    decoded = decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    throw new ExpressionError(
      'syntax',
      'The percent-encoding is broken or no UTF-8.',
      at,
      'percent-encoded UTF-8',
    );
  }
  if (decoded.includes('\u0000'))
    throw new ExpressionError('syntax', 'The character NUL is not allowed.', at);
  return decoded;
}
