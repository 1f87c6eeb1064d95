import type { Queryable, TransactionOptions } from './index.ts';

/**
 * Runs `work` between BEGIN and COMMIT on one connection. A failure of ROLLBACK is not hidden behind the first
 * error: the caller's `discard` is told that the connection cannot be used again.
 */
export async function runTransaction<T>(
  connection: Queryable,
  work: (tx: Queryable) => Promise<T>,
  options: TransactionOptions,
  discard: (error: unknown) => void,
): Promise<T> {
  await connection.script(beginText(options));
  let result: T;
  try {
    result = await work(connection);
  } catch (error) {
    try {
      await connection.script('rollback');
    } catch (rollbackError) {
      discard(rollbackError);
    }
    throw error;
  }
  try {
    await connection.script('commit');
  } catch (error) {
    discard(error);
    throw error;
  }
  return result;
}

function beginText(options: TransactionOptions): string {
  const settings = [
    options.statementTimeoutMs === undefined
      ? ''
      : `; set local statement_timeout = ${Math.trunc(options.statementTimeoutMs)}`,
    options.idleTimeoutMs === undefined
      ? ''
      : `; set local idle_in_transaction_session_timeout = ${Math.trunc(options.idleTimeoutMs)}`,
  ];
  return `begin isolation level read committed${settings.join('')}`;
}

/**
 * What every session of ours is set to, whatever the role's or database's defaults are: texts of dates, times and
 * intervals are written and read back in one form.
 */
export function sessionSettings(statementTimeoutMs: number): string {
  return `set statement_timeout = ${Math.trunc(statementTimeoutMs)};
set timezone = 'UTC';
set datestyle = 'ISO, YMD';
set intervalstyle = 'iso_8601'`;
}
