import { ExpressionError } from './expression-error.ts';
import type { ColumnSql, EntityType, ScalarType, TableRef } from './model.ts';
import type { TypedValue } from './typed.ts';

/** A value as it is bound: exact numbers, dates and times travel as text and are cast by the statement. */
export type SqlValue = string | boolean | Uint8Array | readonly string[] | readonly boolean[];

/** A piece of SQL with its parameters, numbered from where its writer was told to start. */
export interface SqlFragment {
  readonly text: string;
  readonly values: readonly SqlValue[];
}

/**
 * Binds a value in the fragment being written and returns what stands in its text for the placeholder with its cast; in the
 * finished fragment that is `$3::bigint`.
 */
export type BindValue = (value: SqlValue, cast: string) => string;

/** What translation needs beside the tree. */
export interface SqlOptions {
  /** The alias of the rows filtered, unquoted. */
  readonly alias: string;
  /** The number of the first placeholder, so that fragments compose; 1 by default. */
  readonly firstParameter?: number;
  /** What `now()` is: a bound instant in ISO text, or trusted SQL of type timestamptz; `now()` by default. */
  readonly now?: { readonly value: string } | { readonly sql: string };
  /**
   * What `@consumer.X` is: a bound value, trusted SQL of the given type, or undefined for an attribute the consumer does not
   * have, which refuses the whole expression (a missing attribute must never turn into a null that matches).
   */
  readonly consumer?: (
    attribute: string,
    type: ScalarType,
  ) => { readonly value: SqlValue } | { readonly sql: string } | undefined;
  /**
   * The condition on rows reached over a relation (who may see them), with the quoted alias of those rows; null for none.
   * Required as soon as an expression follows a relation, so that visibility cannot be forgotten.
   */
  readonly restrict?: (target: EntityType, alias: string, bind: BindValue) => string | null;
}

/**
 * Where a condition stands. In `where` null and false are the same (the row is not taken), which lets a comparison stay
 * bare and use an index; in `exact` the condition's own three values matter, below a `not` for example.
 */
export type Mode = 'where' | 'exact';

/** The two translations that call each other: of a value and of a condition. */
export interface Translators {
  readonly value: (expr: TypedValue, w: SqlWriter) => string;
  readonly condition: (expr: TypedValue, mode: Mode, w: SqlWriter) => string;
}

/** A running translation: its parameters, the alias of the rows filtered, the aliases used so far. */
export interface SqlWriter {
  readonly options: SqlOptions;
  readonly values: SqlValue[];
  readonly bind: BindValue;
  readonly it: string;
  readonly translate: Translators;
  aliases: number;
}

/** Stands around the index of a bound value until the placeholders are numbered; no identifier can hold it. */
const MARK = '\uffff';
const PLACEHOLDER = /\uffff(\d+)\uffff/g;

/** Starts a translation. */
export function startSql(options: SqlOptions, translate: Translators): SqlWriter {
  const values: SqlValue[] = [];
  const bind: BindValue = (value, cast) => {
    values.push(value);
    return `${MARK}${values.length - 1}${MARK}::${cast}`;
  };
  return { options, values, bind, it: quoteIdentifier(options.alias), translate, aliases: 0 };
}

/**
 * Ends a translation: numbers the placeholders that the text came to hold. Some were bound for a part that then turned out
 * to be constant; Postgres refuses parameters that the statement does not use.
 */
export function finishSql(text: string, w: SqlWriter): SqlFragment {
  const first = w.options.firstParameter ?? 1;
  const numbers = new Map<string, number>();
  const values: SqlValue[] = [];
  const numbered = text.replaceAll(PLACEHOLDER, (_mark, index: string) => {
    const known = numbers.get(index);
    if (known !== undefined) return `$${known}`;
    const value = w.values[Number(index)];
    if (value === undefined) throw new Error(`the SQL names a parameter ${index} that was not bound`);
    values.push(value);
    const number = first + values.length - 1;
    numbers.set(index, number);
    return `$${number}`;
  });
  return { text: numbered, values };
}

/** An identifier in double quotes. @throws Error for an empty one or one that no table can have: a fault of the model. */
export function quoteIdentifier(name: string): string {
  if (name === '' || name.includes('\u0000') || name.includes(MARK)) {
    throw new Error('an SQL identifier cannot be empty, hold NUL or the placeholder mark');
  }
  return `"${name.replaceAll('"', '""')}"`;
}

/** A property's column of the row with that quoted alias. */
export function columnSql(column: ColumnSql, quotedAlias: string): string {
  return typeof column === 'string' ? `${quotedAlias}.${quoteIdentifier(column)}` : column(quotedAlias);
}

/** A table, quoted. */
export function tableSql(table: TableRef): string {
  const name = quoteIdentifier(table.name);
  return table.schema === undefined ? name : `${quoteIdentifier(table.schema)}.${name}`;
}

/** The Postgres type a scalar's values are bound as. Durations are bound as numeric seconds. */
export function sqlTypeOf(type: ScalarType): string {
  if (type.kind === 'enum') return type.storage === 'name' ? 'text' : 'bigint';
  const { name } = type;
  switch (name) {
    case 'Edm.Binary':
      return 'bytea';
    case 'Edm.Boolean':
      return 'boolean';
    case 'Edm.Date':
      return 'date';
    case 'Edm.DateTimeOffset':
      return 'timestamptz';
    case 'Edm.Decimal':
    case 'Edm.Duration':
      return 'numeric';
    case 'Edm.Double':
      return 'float8';
    case 'Edm.Guid':
      return 'uuid';
    case 'Edm.Int16':
    case 'Edm.Int32':
    case 'Edm.Int64':
      return 'bigint';
    case 'Edm.Single':
      return 'float4';
    case 'Edm.String':
      return 'text';
    case 'Edm.TimeOfDay':
      return 'time';
    default: {
      const never: never = name;
      return never;
    }
  }
}

/** True for what is short and cheap enough to be written twice: a column, a placeholder. */
export function isAtomic(expr: TypedValue): boolean {
  const plain = expr.kind === 'field' && expr.via.length === 0 && expr.json.length === 0;
  return (
    plain ||
    expr.kind === 'literal' ||
    expr.kind === 'element' ||
    expr.kind === 'consumer' ||
    expr.kind === 'null'
  );
}

/**
 * SQL that needs the value of an expression more than once. Anything but a column or parameter is computed once in a
 * subquery: repeated, it would double the statement at each level of nesting. `offset 0` keeps the planner from undoing that.
 */
export function repeated(
  expr: TypedValue,
  sql: string,
  w: SqlWriter,
  write: (value: string) => string,
): string {
  if (isAtomic(expr)) return write(sql);
  w.aliases += 1;
  const alias = quoteIdentifier(`_c${w.aliases}`);
  return `(select ${write(`${alias}."v"`)} from (select ${sql} as "v" offset 0) as ${alias})`;
}

/** The placeholder or SQL of `@consumer.X`. @throws ExpressionError `unknown-name` when the consumer has no such attribute. */
export function consumerSql(attribute: string, type: ScalarType, at: number, w: SqlWriter): string {
  const found = w.options.consumer?.(attribute, type);
  if (found === undefined) {
    throw new ExpressionError('unknown-name', `The consumer has no attribute ${attribute}.`, at);
  }
  return 'sql' in found ? found.sql : w.bind(found.value, sqlTypeOf(type));
}
