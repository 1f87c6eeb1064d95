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

/** Binds a value in the fragment being written and returns its placeholder with its cast, such as `$3::bigint`. */
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

/** Starts a translation. */
export function startSql(options: SqlOptions, translate: Translators): SqlWriter {
  const values: SqlValue[] = [];
  const first = options.firstParameter ?? 1;
  const bind: BindValue = (value, cast) => {
    values.push(value);
    return `$${first + values.length - 1}::${cast}`;
  };
  return { options, values, bind, it: quoteIdentifier(options.alias), translate, aliases: 0 };
}

/** An identifier in double quotes. @throws Error for an empty one or one with NUL: a fault of the model. */
export function quoteIdentifier(name: string): string {
  if (name === '' || name.includes('\u0000'))
    throw new Error('an SQL identifier cannot be empty or hold NUL');
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

/** The placeholder or SQL of `@consumer.X`. @throws ExpressionError `unknown-name` when the consumer has no such attribute. */
export function consumerSql(attribute: string, type: ScalarType, at: number, w: SqlWriter): string {
  const found = w.options.consumer?.(attribute, type);
  if (found === undefined) {
    throw new ExpressionError('unknown-name', `The consumer has no attribute ${attribute}.`, at);
  }
  return 'sql' in found ? found.sql : w.bind(found.value, sqlTypeOf(type));
}
