import type { TypedOrderItem } from './bind.ts';
import { type SqlOptions, type SqlValue, sqlTypeOf } from './sql-writer.ts';
import { valueToSql } from './to-sql.ts';
import { isNullable, valueType } from './typed.ts';

/** One item of an order, as SQL. */
export interface SeekItem {
  /** The ordered expression; its placeholders are among the values that `seekItems` returned. */
  readonly sql: string;
  /** SQL type that the expression's text form is cast back to. */
  readonly type: string;
  readonly descending: boolean;
  readonly nullable: boolean;
}

/**
 * The items of a bound order. Strings keep the collation of their column, so that the column's index serves the order;
 * the seek compares under the same one.
 */
export function seekItems(
  orderBy: readonly TypedOrderItem[],
  options: SqlOptions,
): { items: SeekItem[]; values: SqlValue[] } {
  const values: SqlValue[] = [];
  const items = orderBy.map(({ expr, descending }) => {
    const { text, values: own } = valueToSql(expr, {
      ...options,
      firstParameter: (options.firstParameter ?? 1) + values.length,
    });
    values.push(...own);
    const type = valueType(expr);
    return {
      sql: text,
      type: type === null ? 'text' : sqlTypeOf(type),
      descending,
      nullable: isNullable(expr),
    };
  });
  return { items, values };
}

/**
 * `order by` list. Null sorts below every value: first when ascending, last when descending (URL Conventions 5.1.5),
 * which is the opposite of PostgreSQL's default and written only where a null can occur, so that an index still fits.
 */
export function orderSql(items: readonly SeekItem[]): string {
  return items
    .map(({ sql, descending, nullable }) => {
      const nulls = nullable ? (descending ? ' nulls last' : ' nulls first') : '';
      return `${sql}${descending ? ' desc' : ''}${nulls}`;
    })
    .join(', ');
}

/**
 * The condition that a row comes after the one with these values in the order: the seek of a keyset page. `after` has
 * one text (or null) for each item; placeholders are numbered from `firstParameter`. The items end in a key, so no
 * two rows are equal in all of them.
 */
export function seekSql(
  items: readonly SeekItem[],
  after: readonly (string | null)[],
  firstParameter: number,
): { text: string; values: string[] } {
  const values: string[] = [];
  const bound = items.map(({ type }, index) => {
    const value = after[index];
    if (value == null) return null;
    values.push(value);
    return `$${firstParameter + values.length - 1}::text::${type}`;
  });
  // One direction and no nulls: a row comparison, which a composite index serves as one range.
  const [first] = items;
  if (first !== undefined && items.every(item => !item.nullable && item.descending === first.descending)) {
    const operator = first.descending ? '<' : '>';
    const left = items.map(({ sql }) => sql).join(', ');
    return { text: `(${left}) ${operator} (${bound.map(value => value ?? 'null').join(', ')})`, values };
  }
  const alternatives: string[] = [];
  const equal: string[] = [];
  items.forEach((item, index) => {
    const value = bound[index] ?? null;
    const beyond = beyondSql(item, value);
    if (beyond !== undefined) alternatives.push([...equal, beyond].join(' and '));
    equal.push(value === null ? `${item.sql} is null` : `${item.sql} = ${value}`);
  });
  return { text: `(${alternatives.map(text => `(${text})`).join(' or ') || 'false'})`, values };
}

function beyondSql({ sql, descending, nullable }: SeekItem, value: string | null): string | undefined {
  if (value === null) return descending ? undefined : `${sql} is not null`;
  if (!descending) return `${sql} > ${value}`;
  return nullable ? `(${sql} < ${value} or ${sql} is null)` : `${sql} < ${value}`;
}
