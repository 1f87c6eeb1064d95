import type { Db } from './index.ts';
import { openPglite } from './pglite.ts';
import { openPostgres } from './postgres.ts';

/** Where the data lives and how it is reached. */
export interface DbOptions {
  /** PostgreSQL connection string; absent: an embedded PGlite in `dataDir`. */
  readonly databaseUrl?: string | undefined;
  /** Folder of the embedded database. */
  readonly dataDir: string;
  /** Connections in the pool; PGlite always has one. */
  readonly poolSize?: number;
  /** Milliseconds after which the server cancels a statement outside transactions that set their own; absent: none. */
  readonly statementTimeoutMs?: number;
  /** Shown in pg_stat_activity. */
  readonly applicationName?: string;
}

/**
 * Opens the database. Nothing is created in it.
 * @throws EE-701 when another process owns the data directory.
 */
export async function connect(options: DbOptions): Promise<Db> {
  const {
    databaseUrl,
    dataDir,
    poolSize = 10,
    applicationName = 'pulsefeed',
    statementTimeoutMs = 0,
  } = options;
  return databaseUrl === undefined
    ? openPglite(dataDir, statementTimeoutMs)
    : openPostgres({ url: databaseUrl, poolSize, applicationName, statementTimeoutMs });
}
