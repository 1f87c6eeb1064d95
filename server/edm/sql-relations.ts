import { columnSql, quoteIdentifier, type SqlWriter, tableSql } from './sql-writer.ts';
import type { Collection, NavigationStep, Origin } from './typed.ts';

/** The quoted alias of a range variable's rows. Variables are numbered by nesting, so no two in scope share one. */
export function variableAlias(id: number): string {
  return quoteIdentifier(`_v${id}`);
}

/** The quoted alias of the row a path starts from. */
export function originAlias(origin: Origin, w: SqlWriter): string {
  return origin.kind === 'it' ? w.it : variableAlias(origin.id);
}

/** Tables joined over relations, and the conditions on them. */
interface Chain {
  readonly from: string;
  readonly where: string;
}

/** `from` and `where` of the rows that relations lead to; the last ones get the alias `last`. */
function chain(origin: Origin, steps: readonly NavigationStep[], last: string, w: SqlWriter): Chain {
  const { restrict } = w.options;
  if (restrict === undefined)
    throw new Error('an expression follows a relation, but nothing says which rows may be seen');
  let previous = originAlias(origin, w);
  const tables: string[] = [];
  const conditions: string[] = [];
  for (const [index, { navigation, target }] of steps.entries()) {
    w.aliases += 1;
    const alias = index === steps.length - 1 ? last : quoteIdentifier(`_n${w.aliases}`);
    tables.push(`${tableSql(target.table)} as ${alias}`);
    for (const pair of navigation.join) {
      conditions.push(`${columnSql(pair.target, alias)} = ${columnSql(pair.own, previous)}`);
    }
    const visible = restrict(target, alias, w.bind);
    if (visible !== null) conditions.push(`(${visible})`);
    previous = alias;
  }
  return { from: tables.join(' cross join '), where: conditions.join(' and ') };
}

/** An SQL value of the row that single-valued relations lead to, null when there is none; `value` writes it for an alias. */
export function reached(
  origin: Origin,
  via: readonly NavigationStep[],
  w: SqlWriter,
  value: (alias: string) => string,
): string {
  if (via.length === 0) return value(originAlias(origin, w));
  w.aliases += 1;
  const last = quoteIdentifier(`_n${w.aliases}`);
  const { from, where } = chain(origin, via, last, w);
  return `(select ${value(last)} from ${from} where ${where} limit 1)`;
}

/** The array of a collection of values. */
export function arraySql(collection: Collection & { readonly kind: 'values' }, w: SqlWriter): string {
  return reached(collection.origin, collection.via, w, alias => columnSql(collection.property.column, alias));
}

/** `from ... where ...` of a collection's members, whose alias is that of the variable `id`; `true` where nothing restricts. */
export function members(collection: Collection, id: number, w: SqlWriter): Chain {
  const alias = variableAlias(id);
  if (collection.kind === 'values')
    return { from: `unnest(${arraySql(collection, w)}) as ${alias}("x")`, where: 'true' };
  return chain(collection.origin, [...collection.via, collection.step], alias, w);
}

/** The element a variable over values stands for. */
export function elementSql(id: number): string {
  return `${variableAlias(id)}."x"`;
}
