import type { Knex } from 'knex';

/** One SQL statement with `$1` parameters. A `name` makes the server keep its plan (PostgreSQL only). */
export interface Statement {
  readonly name?: string;
  readonly text: string;
  readonly values?: readonly unknown[];
  /** `array` returns each row as an array of its columns, in order: no object is built. */
  readonly rowMode?: 'array';
}

/** Anything that runs statements: the pool, or one open transaction. */
export interface Queryable {
  /** Runs one statement and returns its rows. `int8` comes back as bigint. */
  query<Row>(statement: Statement): Promise<Row[]>;
  /** Runs several statements in one text, without parameters and without results. */
  script(sql: string): Promise<void>;
}

/** How a transaction is to be run. */
export interface TransactionOptions {
  /** Milliseconds after which a statement is cancelled by the server. */
  readonly statementTimeoutMs?: number;
  /** Milliseconds after which the server ends the session when it idles inside the transaction. */
  readonly idleTimeoutMs?: number;
}

/**
 * One session of its own, kept until it is closed: for temporary tables. On PGlite, where there is only one
 * session, it shares that one and holds it only while a transaction runs.
 */
export interface Session {
  transaction<T>(work: (tx: Queryable) => Promise<T>, options?: TransactionOptions): Promise<T>;
  close(): Promise<void>;
}

/** The one seam to the database: PostgreSQL through pg and knex, or PGlite in this process. */
export interface Db extends Queryable {
  readonly engine: 'postgres' | 'pglite';
  /** For migrations and for filters put together by the builder; hand-written SQL goes through `query`. */
  readonly knex: Knex;
  /** READ COMMITTED; commits when `work` resolves, rolls back and rethrows when it throws. */
  transaction<T>(work: (tx: Queryable) => Promise<T>, options?: TransactionOptions): Promise<T>;
  session(): Promise<Session>;
  /**
   * Calls `onNotify` for each NOTIFY on the channel, and once after every reconnection, since what was sent
   * meanwhile is lost: a notification is a hint, the reader polls besides.
   */
  listen(channel: string, onNotify: (payload: string) => void): Promise<() => Promise<void>>;
  close(): Promise<void>;
}

export { connect, type DbOptions } from './connect.ts';
export { migrate, pendingMigrations } from './migrate.ts';
export { quoteIdentifier, quoteTable, splitTable } from './quote.ts';
