import knexFactory from 'knex';
import pg from 'pg';
import type { Db, Queryable, Session, Statement, TransactionOptions } from './index.ts';
import { listenOnPostgres } from './listen.ts';
import { runTransaction, sessionSettings } from './transaction.ts';

/** int8 as bigint: EntityEventSequence goes past 2^53 and Number() must never touch it. */
const types = {
  getTypeParser(oid: number, format?: 'text' | 'binary') {
    if (oid === 20) return (text: string) => BigInt(text);
    return format === undefined ? pg.types.getTypeParser(oid) : pg.types.getTypeParser(oid, format as 'text');
  },
};

const connectTimeoutMs = 10_000;
/** How much longer than the server's own limit an answer is waited for. */
const answerMs = 5_000;

/** knex prints to the console what its callers are told by an error as well, and each session that is closed. */
const quiet = { warn: () => undefined, error: () => undefined };

/** What is asked of a raw pg connection that knex's pool hands out. */
type RawConnection = pg.Client & { __knex__disposed?: unknown };

/** How a pool is opened. */
export interface PostgresOptions {
  readonly url: string;
  readonly poolSize: number;
  readonly applicationName: string;
  readonly statementTimeoutMs: number;
}

/** Opens a pool on a PostgreSQL server. The first connection is made at the first statement. */
export function openPostgres(options: PostgresOptions): Db {
  const { url, poolSize, applicationName } = options;
  const settings = {
    connectionString: url,
    application_name: applicationName,
    types,
    keepAlive: true,
    connectionTimeoutMillis: connectTimeoutMs,
  };
  const knex = knexFactory({
    client: 'pg',
    connection: settings as never,
    pool: {
      min: 0,
      max: poolSize,
      afterCreate: (connection: pg.Client, done: (error: Error | null) => void) => {
        connection.query(sessionSettings(options.statementTimeoutMs), error => done(error ?? null));
      },
    },
    acquireConnectionTimeout: connectTimeoutMs,
    log: quiet,
  });

  const acquire = (): Promise<RawConnection> => knex.client.acquireConnection();
  const release = (connection: RawConnection): Promise<void> => knex.client.releaseConnection(connection);

  async function withConnection<T>(work: (connection: RawConnection) => Promise<T>): Promise<T> {
    const connection = await acquire();
    try {
      return await work(connection);
    } finally {
      await release(connection);
    }
  }

  async function transactionOn<T>(
    connection: RawConnection,
    work: (tx: Queryable) => Promise<T>,
    options: TransactionOptions,
  ): Promise<T> {
    // The server cancels a statement in time; when it does not even answer, it is gone without a reset.
    const giveUpMs =
      options.statementTimeoutMs === undefined ? undefined : options.statementTimeoutMs + answerMs;
    return runTransaction(queryableOf(connection, giveUpMs), work, options, error => {
      connection.__knex__disposed = error;
    });
  }

  async function session(): Promise<Session> {
    const connection = await acquire();
    return {
      transaction: (work, options = {}) => transactionOn(connection, work, options),
      async close() {
        // Its temporary tables must not meet the next user of the pool.
        await queryableOf(connection, answerMs)
          .script('discard temp')
          .catch((error: unknown) => {
            connection.__knex__disposed ??= error;
          });
        await release(connection);
      },
    };
  }

  return {
    engine: 'postgres',
    knex,
    query: statement => withConnection(connection => queryableOf(connection).query(statement)),
    script: sql => withConnection(connection => queryableOf(connection).script(sql)),
    transaction: (work, options = {}) =>
      withConnection(connection => transactionOn(connection, work, options)),
    session,
    listen: (channel, onNotify) => listenOnPostgres(settings, channel, onNotify),
    close: () => knex.destroy(),
  } as Db;
}

/** @param giveUpMs How long an answer is waited for; absent: for ever, as TCP keepalive allows. */
function queryableOf(connection: RawConnection, giveUpMs?: number): Queryable {
  const patience = giveUpMs === undefined ? {} : { query_timeout: giveUpMs };
  return {
    async query<Row>(statement: Statement): Promise<Row[]> {
      const result = await connection.query({
        text: statement.text,
        ...(statement.name === undefined ? {} : { name: statement.name }),
        ...(statement.values === undefined ? {} : { values: [...statement.values] }),
        ...(statement.rowMode === undefined ? {} : { rowMode: statement.rowMode }),
        ...patience,
      } as pg.QueryConfig);
      return result.rows as Row[];
    },
    async script(sql) {
      await connection.query({ text: sql, ...patience } as pg.QueryConfig);
    },
  };
}
