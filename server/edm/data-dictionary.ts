import { readFileSync } from 'node:fs';
import { packageFile } from '../base/package-root.ts';

/** The simple types of the Data Dictionary; `single` and `multi` are its string lists. */
export type DictionaryKind = 'string' | 'number' | 'boolean' | 'date' | 'timestamp' | 'single' | 'multi';

/** What the RESO Data Dictionary 2.0 says of one field. */
export interface DictionaryField {
  readonly kind: DictionaryKind;
  /** Suggested length in characters, or in digits for a number. */
  readonly length: number | undefined;
  readonly decimals: number | undefined;
  readonly lookup: string | undefined;
}

type Facts = readonly [DictionaryKind, (number | null)?, (number | null)?, (string | null)?];

interface Dictionary {
  readonly ratified: string;
  readonly fields: Readonly<Record<string, Readonly<Record<string, Facts>>>>;
  readonly lookups: Readonly<Record<string, readonly string[]>>;
}

const dictionary = JSON.parse(
  readFileSync(packageFile('schema/data-dictionary-2.0.json'), 'utf8'),
) as Dictionary;

/** The moment that the facts are as of, for the ModificationTimestamp of resources made from them. */
export const dictionaryRatified = dictionary.ratified;

/** The facts of a field, or undefined when the standard does not know it; a custom resource has none. */
export function dictionaryField(resource: string, field: string): DictionaryField | undefined {
  const facts = own(own(dictionary.fields, resource), field);
  if (facts === undefined) return undefined;
  const [kind, length, decimals, lookup] = facts;
  return {
    kind,
    length: length ?? undefined,
    decimals: decimals ?? undefined,
    lookup: lookup ?? undefined,
  };
}

/** The standard values of a lookup; empty for an open one, where providers have only their own. */
export function lookupValues(lookup: string): readonly string[] {
  return own(dictionary.lookups, lookup) ?? [];
}

/**
 * The standard's name for a column: `list_price`, `LISTPRICE` and `listPrice` are all `ListPrice`; undefined when the
 * resource has no such field.
 */
export function dictionaryName(resource: string, column: string): string | undefined {
  return plainNames.get(resource)?.get(plain(column));
}

const plainNames = new Map(
  Object.entries(dictionary.fields).map(([resource, fields]) => [
    resource,
    new Map(Object.keys(fields).map(name => [plain(name), name])),
  ]),
);

function plain(name: string): string {
  return name.replaceAll('_', '').toLowerCase();
}

/** Names come from outside: `constructor` is not a field. */
function own<T>(record: Readonly<Record<string, T>> | undefined, name: string): T | undefined {
  return record !== undefined && Object.hasOwn(record, name) ? record[name] : undefined;
}
