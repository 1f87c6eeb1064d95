import { ReplicationError } from '../replication-error.ts';
import type { Store } from '../store.ts';
import { ndjsonStore } from './ndjson.ts';
import { postgresStore } from './postgres.ts';
import { sqliteStore } from './sqlite.ts';

/**
 * Makes the store a target names: `postgres://...`, `*.sqlite` / `*.sqlite3` / `*.db`, or `*.ndjson` / `*.jsonl`.
 * @throws ReplicationError `usage` for anything else.
 */
export function storeFor(target: string, schema?: string): Store {
  if (/^postgres(ql)?:\/\//.test(target)) return postgresStore({ url: target, schema });
  if (schema !== undefined) throw new ReplicationError('usage', 'Only a Postgres copy has a schema.');
  if (/\.(sqlite3?|db)$/i.test(target)) return sqliteStore(target);
  if (/\.(ndjson|jsonl)$/i.test(target)) return ndjsonStore(target);
  throw new ReplicationError(
    'usage',
    `Not a target: ${target}. Use postgres://..., a .sqlite file or an .ndjson file.`,
  );
}
