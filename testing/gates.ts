import pg from 'pg';
import { atTestEnd } from './cleanup.ts';
import { until, within } from './until.ts';
import { withConnection } from './with-connection.ts';

/** A statement that Postgres reports as waiting for a lock. */
export type BlockedStatement = {
  /** The backends it waits for, as pg_blocking_pids tells. */
  blockedBy: number[];
  /** Resolves when the statement is through, rejects with its error. */
  finished: Promise<pg.QueryResult>;
};

/** One connection whose steps a test takes one by one. Values are bound to `$1` and on. */
export type GateSession = {
  /** The process id of its backend. */
  readonly pid: number;
  readonly client: pg.Client;
  run<Row extends pg.QueryResultRow>(sql: string, values?: unknown[]): Promise<pg.QueryResult<Row>>;
  /** @param mode follows `begin`, such as `isolation level serializable`. */
  begin(mode?: string): Promise<void>;
  commit(): Promise<void>;
  rollback(): Promise<void>;
  /**
   * Starts a statement that must wait for another session, and returns once Postgres says that it does.
   * @throws Error when it gets through or fails instead, or is not seen waiting within 5 s.
   */
  blocked(sql: string, values?: unknown[]): Promise<BlockedStatement>;
  close(): Promise<void>;
};

type Activity = { state: string | null; wait_event_type: string | null; blocked_by: number[] };

const BLOCKED_MS = 5_000;
const CLOSE_MS = 5_000;

/**
 * Connects a session for a test of interleavings, so that each step is held at a gate (a lock, an open transaction)
 * and no step waits by the clock. All sessions are closed when the test ends, whatever they are waiting for; one made
 * in a `before` hook lasts until the first test has ended.
 * @param name is its application_name, to tell sessions apart in Postgres's views and log.
 */
export async function openSession(url: string, name = 'gate'): Promise<GateSession> {
  const client = new pg.Client({ connectionString: url, application_name: name });
  // Tests kill backends and servers; what matters then is the error of the statement that meets it.
  client.on('error', () => undefined);
  await client.connect();
  // Missing from pg's types. A session that a test forgot must not hold the process.
  (client as pg.Client & { unref(): void }).unref();
  let ended = false;
  client.once('end', () => {
    ended = true;
  });
  const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid');
  const pid = rows[0]?.pid ?? 0;
  let closed: Promise<void> | undefined;
  const close = () => {
    closed ??= closeSession();
    return closed;
  };
  const closeSession = async () => {
    try {
      if (!ended) await endBackend(url, pid);
    } catch (error) {
      // The test may have stopped the server or dropped the database, which ended the session as well.
      if (!ended) throw error;
    }
    await within('the connection to close', client.end(), CLOSE_MS);
  };
  atTestEnd(close);
  const run = <Row extends pg.QueryResultRow>(sql: string, values: unknown[] = []) =>
    client.query<Row>(sql, values);
  return {
    pid,
    client,
    run,
    begin: async (mode = '') => void (await run(`begin ${mode}`)),
    commit: () => finish(client, 'commit'),
    rollback: () => finish(client, 'rollback'),
    blocked: (sql, values = []) => startBlocked(url, client, pid, sql, values),
    close,
  };
}

/** A commit of a failed transaction is answered with ROLLBACK, which a test must not take for success. */
async function finish(client: pg.Client, verb: 'commit' | 'rollback'): Promise<void> {
  const { command } = await client.query(verb);
  if (command !== verb.toUpperCase()) throw new Error(`${verb} ended as ${command}`);
}

async function startBlocked(
  url: string,
  client: pg.Client,
  pid: number,
  sql: string,
  values: unknown[],
): Promise<BlockedStatement> {
  let outcome: string | undefined;
  const finished = client.query(sql, values);
  finished.then(
    () => {
      outcome = 'it got through';
    },
    error => {
      outcome = `it failed: ${error}`;
    },
  );
  const blockedBy = await withConnection(url, observer => {
    let seen: Activity | undefined;
    const waiting = async () => {
      if (outcome !== undefined) throw new Error(`expected to wait for a lock, but ${outcome}: ${sql}`);
      seen = await activity(observer, pid);
      return seen?.wait_event_type === 'Lock' && seen.blocked_by.length > 0 ? seen.blocked_by : undefined;
    };
    return until(`a lock wait of: ${sql}`, waiting, { withinMs: BLOCKED_MS }).catch(error => {
      throw new Error(`${error instanceof Error ? error.message : error} (${JSON.stringify(seen)})`);
    });
  });
  return { blockedBy, finished };
}

async function activity(observer: pg.Client, pid: number): Promise<Activity | undefined> {
  const { rows } = await observer.query<Activity>(
    `select state, wait_event_type, pg_blocking_pids(pid) as blocked_by
     from pg_stat_activity
     where pid = $1`,
    [pid],
  );
  return rows[0];
}

/** A backend that waits for a lock does not read the goodbye of its client, so it is ended from outside. */
async function endBackend(url: string, pid: number): Promise<void> {
  await withConnection(url, async observer => {
    await observer.query('select pg_terminate_backend($1)', [pid]);
    const gone = async () => (await activity(observer, pid)) === undefined;
    await until('the session to end', gone, { withinMs: CLOSE_MS });
  });
}
