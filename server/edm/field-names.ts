import type { Column, ResourceTable } from '../base/catalog/index.ts';
import { dictionaryName } from './data-dictionary.ts';

/** A column and the name it is served under. */
export interface ServedColumn {
  readonly column: Column;
  readonly name: string;
}

/** The columns of a table by the names that clients see; `faults` says what is wrong with the configuration of them. */
export interface FieldNames {
  readonly served: readonly ServedColumn[];
  readonly hidden: readonly Column[];
  readonly faults: readonly string[];
}

/**
 * Names the columns: what the configuration says; else the Data Dictionary name that the column spells in another way,
 * unless two columns spell the same; else the column's own name, with what no OData identifier can hold as underscores.
 */
export function fieldNames(table: ResourceTable): FieldNames {
  const { config, columns } = table;
  const overrides = config.fields ?? {};
  const known = new Set(columns.map(({ name }) => name));
  const faults = Object.keys(overrides)
    .filter(name => !known.has(name))
    .map(name => `resource ${config.name}: fields names ${name}, which table ${config.table} does not have`);
  const shown = columns.filter(({ name }) => overrideOf(overrides, name) !== false);
  const hidden = columns.filter(({ name }) => overrideOf(overrides, name) === false);
  if (hidden.includes(table.key))
    faults.push(`resource ${config.name}: the key ${config.key} cannot be hidden`);
  const standard = standardNames(config.name, shown, overrides);
  const served = shown.map(column => {
    const override = overrideOf(overrides, column.name);
    const name = override === undefined || override === false ? standard.get(column.name) : override;
    return { column, name: name ?? identifier(column.name) };
  });
  faults.push(...doubled(config.name, served));
  return { served, hidden, faults };
}

function overrideOf(
  overrides: Readonly<Record<string, string | false>>,
  name: string,
): string | false | undefined {
  return Object.hasOwn(overrides, name) ? overrides[name] : undefined;
}

/** Column name -> Data Dictionary name, where exactly one column may have it; a column that bears it already goes first. */
function standardNames(
  resource: string,
  columns: readonly Column[],
  overrides: Readonly<Record<string, string | false>>,
): Map<string, string> {
  const taken = new Set(Object.values(overrides));
  for (const { name } of columns) if (overrideOf(overrides, name) === undefined) taken.add(name);
  const candidates = new Map<string, string[]>();
  for (const { name } of columns) {
    const standard = dictionaryName(resource, name);
    if (standard === undefined || overrideOf(overrides, name) !== undefined) continue;
    candidates.set(standard, [...(candidates.get(standard) ?? []), name]);
  }
  const names = new Map<string, string>();
  for (const [standard, [first, ...others]] of candidates) {
    if (first === undefined || others.length > 0 || (taken.has(standard) && first !== standard)) continue;
    names.set(first, standard);
  }
  return names;
}

function doubled(resource: string, served: readonly ServedColumn[]): string[] {
  const byName = new Map<string, string>();
  const faults: string[] = [];
  for (const { name, column } of served) {
    const other = byName.get(name);
    if (other !== undefined) {
      faults.push(
        `resource ${resource}: the columns ${other} and ${column.name} would both be served as ${name}`,
      );
    }
    byName.set(name, column.name);
  }
  return faults;
}

function identifier(name: string): string {
  const plain = name.replace(/[^\p{L}\p{Nl}\p{Nd}_]/gu, '_');
  return /^[\p{L}\p{Nl}_]/u.test(plain) ? plain : `_${plain}`;
}
