import { mkdir } from 'node:fs/promises';
import { PGlite, types as pgTypes } from '@electric-sql/pglite';
import knexFactory from 'knex';
import ClientPglite from 'knex-pglite';
import { lockDataDirectory } from './data-directory-lock.ts';
import type { Db, Queryable, Session, Statement, TransactionOptions } from './index.ts';
import { runTransaction, sessionSettings } from './transaction.ts';

/**
 * Opens the embedded database in `dataDir`, which this process owns until it closes or dies. One session serves
 * everything: statements queue behind each other, a transaction holds it until its end.
 * @throws EE-701 when another living process owns the folder.
 */
export async function openPglite(dataDir: string, statementTimeoutMs = 0): Promise<Db> {
  await mkdir(dataDir, { recursive: true });
  const lock = await lockDataDirectory(dataDir);
  const pglite = new PGlite(`${dataDir}/pgdata`, { parsers: { [pgTypes.INT8]: text => BigInt(text) } });
  try {
    await pglite.waitReady;
    await pglite.exec(sessionSettings(statementTimeoutMs));
  } catch (error) {
    await lock.release();
    throw error;
  }
  const knex = knexFactory({ client: ClientPglite, connection: { pglite } as never });
  const connection = queryableOf(pglite);

  // The pool of one is the queue: whoever holds its connection has the session to itself.
  async function exclusively<T>(work: () => Promise<T>): Promise<T> {
    const held = await knex.client.acquireConnection();
    try {
      return await work();
    } finally {
      await knex.client.releaseConnection(held);
    }
  }
  const transaction = <T>(
    work: (tx: Queryable) => Promise<T>,
    options: TransactionOptions = {},
  ): Promise<T> => exclusively(() => runTransaction(connection, work, options, () => undefined));

  const session: Session = { transaction, close: async () => undefined };
  return {
    engine: 'pglite',
    knex,
    query: <Row>(statement: Statement) => exclusively(() => connection.query<Row>(statement)),
    script: sql => exclusively(() => connection.script(sql)),
    transaction,
    session: async () => session,
    async listen(channel, onNotify) {
      const stop = await exclusively(() => pglite.listen(channel, onNotify));
      return () => exclusively(() => stop());
    },
    async close() {
      await knex.destroy();
      if (!pglite.closed) await pglite.close();
      await lock.release();
    },
  };
}

function queryableOf(pglite: PGlite): Queryable {
  return {
    async query<Row>(statement: Statement): Promise<Row[]> {
      const options = statement.rowMode === undefined ? {} : { rowMode: statement.rowMode };
      const result = await pglite.query(statement.text, [...(statement.values ?? [])], options);
      return result.rows as Row[];
    },
    async script(sql) {
      await pglite.exec(sql);
    },
  };
}
