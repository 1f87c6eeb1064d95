import { randomBytes } from 'node:crypto';
import type { Queryable } from '../../base/db/index.ts';
import { type Finding, fail, ok, type Patient } from './finding.ts';

const remedy =
  'Connect to PostgreSQL directly, or let the pooler use session mode (PgBouncer: pool_mode = session) for this user.';

/**
 * Does every connection of ours keep a session of its own? The sequencer has temporary tables and named statements,
 * and waiters LISTEN: a pooler in transaction mode breaks them. Two connections that are open at once and answer with
 * the same backend prove such a pooler.
 */
export async function checkSessions({ db }: Patient): Promise<Finding[]> {
  if (db.engine === 'pglite') return [];
  const one = await db.session();
  try {
    const two = await db.session();
    try {
      const table = `doctor_${randomBytes(6).toString('hex')}`;
      const first = await one.transaction(async tx => {
        await tx.script(`create temporary table ${table} ()`);
        return backend(tx);
      });
      const other = await two.transaction(backend);
      const kept = await one.transaction(async tx => {
        const [row] = await tx.query<{ there: boolean }>({
          text: `select to_regclass('pg_temp.${table}') is not null as there`,
        });
        return row?.there === true && (await backend(tx)) === first;
      });
      if (kept && other !== first) return [ok('sessions', 'Each connection keeps its session.')];
      return [
        fail(
          'sessions',
          'A pooler between here and PostgreSQL hands each transaction to another session: temporary tables and prepared statements get lost.',
          remedy,
        ),
      ];
    } finally {
      await two.close();
    }
  } finally {
    await one.close();
  }
}

async function backend(tx: Queryable): Promise<number | undefined> {
  const [row] = await tx.query<{ pid: number }>({ text: 'select pg_backend_pid() as pid' });
  return row?.pid;
}

/** Does a notification that is sent through the pool reach a listener? */
export async function checkNotify({ db, limits }: Patient): Promise<Finding[]> {
  const channel = `pulsefeed_doctor_${randomBytes(6).toString('hex')}`;
  let heard = (_: boolean): void => undefined;
  const arrived = new Promise<boolean>(resolve => {
    heard = resolve;
  });
  const stop = await db.listen(channel, payload => heard(payload === 'knock'));
  const timer = setTimeout(() => heard(false), limits.notifyMs);
  try {
    await db.query({ text: `select pg_notify($1, 'knock')`, values: [channel] });
    if (await arrived) return [ok('notify', 'LISTEN and NOTIFY get through.')];
    return [
      fail(
        'notify',
        `A notification did not arrive within ${limits.notifyMs} ms: readers that wait are told late, by polling.`,
        remedy,
      ),
    ];
  } finally {
    clearTimeout(timer);
    await stop();
  }
}
