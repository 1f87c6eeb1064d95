import type { TypedOrderItem } from './bind.ts';
import { type EntityType, isNavigation } from './model.ts';
import { conditionSql } from './sql-condition.ts';
import { valueSql } from './sql-value.ts';
import { finishSql, type SqlFragment, type SqlOptions, startSql, type Translators } from './sql-writer.ts';
import type { TypedLiteral, TypedValue } from './typed.ts';
import { valueType } from './typed.ts';

const TRANSLATORS: Translators = { value: valueSql, condition: conditionSql };

/**
 * A bound filter as the condition of a `where` clause for PostgreSQL 14 or newer: true for exactly the rows OData means, false
 * or null for the others. Every value is a parameter, every identifier is quoted and comes from the model. The text is one
 * parenthesised term, to be joined with `and`.
 * @throws ExpressionError for times too fine to be held where they stand, and for a consumer attribute that is missing.
 */
export function filterToSql(expr: TypedValue, options: SqlOptions): SqlFragment {
  const w = startSql(options, TRANSLATORS);
  return finishSql(conditionSql(expr, 'where', w), w);
}

/** A bound expression as an SQL value; a condition keeps its three values. @throws ExpressionError as filterToSql. */
export function valueToSql(expr: TypedValue, options: SqlOptions): SqlFragment {
  const w = startSql(options, TRANSLATORS);
  return finishSql(valueSql(expr, w), w);
}

/** One sort key: `text` is the bare expression (strings collated "C"), for the sort and for a keyset condition alike. */
export interface SqlOrderItem extends SqlFragment {
  readonly descending: boolean;
  readonly nulls: 'first' | 'last';
}

/**
 * The sort keys of a bound `$orderby`: nulls first ascending and last descending, as OData says and Postgres does not.
 * Placeholders run on from item to item. @throws ExpressionError as filterToSql.
 */
export function orderByToSql(items: readonly TypedOrderItem[], options: SqlOptions): readonly SqlOrderItem[] {
  let next = options.firstParameter ?? 1;
  return items.map(({ expr, descending }) => {
    const { text, values } = valueToSql(expr, { ...options, firstParameter: next });
    next += values.length;
    const collated = valueType(expr)?.name === 'Edm.String' ? `(${text}) collate "C"` : text;
    return { text: collated, values, descending, nulls: descending ? 'last' : 'first' };
  });
}

/** The text behind `order by` for sort keys. */
export function orderByClause(items: readonly SqlOrderItem[]): string {
  return items.map(item => `${item.text} ${item.descending ? 'desc' : 'asc'} nulls ${item.nulls}`).join(', ');
}

/** The condition that a row has that key, values as bindKey gives them. @throws ExpressionError as filterToSql. */
export function keyToSql(key: readonly TypedLiteral[], type: EntityType, options: SqlOptions): SqlFragment {
  const operands = type.key.map((name, index): TypedValue => {
    const property = type.members.get(name);
    const right = key[index];
    if (right === undefined || property === undefined || isNavigation(property))
      throw new Error(`no key value for ${name}`);
    const left: TypedValue = {
      kind: 'field',
      origin: { kind: 'it' },
      via: [],
      property,
      json: [],
      type: right.type,
      nullable: false,
      at: right.at,
    };
    return { kind: 'compare', op: 'eq', left, right, at: right.at };
  });
  return filterToSql({ kind: 'and', operands, at: 0 }, options);
}
