import { type Finding, fail, ok, type Patient, warn } from './finding.ts';

/** The oldest PostgreSQL that has all that is used. */
const minVersion = 140_000;

/** Judges `server_version_num`. */
export function judgeVersion(versionNum: number, engine: 'postgres' | 'pglite'): Finding {
  const name = engine === 'pglite' ? 'PGlite, PostgreSQL' : 'PostgreSQL';
  const version = `${name} ${Math.floor(versionNum / 10_000)}.${versionNum % 10_000}`;
  return versionNum >= minVersion
    ? ok('version', version)
    : fail('version', `${version} is too old.`, 'Upgrade to PostgreSQL 14 or newer.');
}

/** Is the server new enough? */
export async function checkVersion({ db }: Patient): Promise<Finding[]> {
  const [row] = await db.query<{ version: number }>({
    text: `select current_setting('server_version_num')::int as version`,
  });
  return [judgeVersion(row?.version ?? 0, db.engine)];
}

/** Can anything be written here at all? */
export async function checkWritable({ db }: Patient): Promise<Finding[]> {
  const [row] = await db.query<{ standby: boolean; readonly: boolean }>({
    text: `select pg_is_in_recovery() as standby, current_setting('default_transaction_read_only')::boolean as readonly`,
  });
  if (row?.standby === true) {
    return [
      fail(
        'writable',
        'This server is a standby: nothing can be numbered here.',
        'Let DATABASE_URL name the primary.',
      ),
    ];
  }
  if (row?.readonly === true) {
    return [
      fail(
        'writable',
        'Transactions are read-only by default (default_transaction_read_only).',
        'Reset the setting for this role or database: alter role ... reset default_transaction_read_only.',
      ),
    ];
  }
  return [ok('writable', 'The server takes writes.')];
}

/** Does this machine's clock agree with the database's? */
export async function checkClock({ db, now, limits }: Patient): Promise<Finding[]> {
  const before = now();
  const [row] = await db.query<{ ms: number }>({
    text: `select (extract(epoch from clock_timestamp()) * 1000)::float8 as ms`,
  });
  const after = now();
  // The database read its clock somewhere between the two readings of ours.
  const there = row?.ms ?? before;
  const skewMs = there < before ? there - before : Math.max(0, there - after);
  if (Math.abs(skewMs) <= limits.clockSkewMs) return [ok('clock', 'Both clocks agree.')];
  return [
    warn(
      'clock',
      `The database's clock is ${Math.abs(skewMs / 1_000).toFixed(1)} s ${skewMs > 0 ? 'ahead of' : 'behind'} this machine's.`,
      'Run NTP on both. Order and numbers do not depend on clocks; the margin of reconcile, ages and snowflake numbers do.',
    ),
  ];
}

/** What the embedded database can and cannot do. */
export async function checkEngine({ db, config }: Patient): Promise<Finding[]> {
  if (db.engine === 'postgres') return [];
  return [
    warn(
      'engine',
      `Embedded database in ${config.settings.dataDir}: one process, one session, no concurrency.`,
      'Fine for trying out and small feeds. Set DATABASE_URL for a real one.',
    ),
  ];
}
