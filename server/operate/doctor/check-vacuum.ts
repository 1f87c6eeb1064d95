import { type Finding, ok, type Patient, span, warn } from './finding.ts';

/**
 * What keeps vacuum from removing dead rows. The outbox is filled and emptied all the time: with an old horizon each
 * step reads past more and more dead entries. A slow decay, not a stall.
 */
export async function checkVacuum(patient: Patient): Promise<Finding[]> {
  if (patient.db.engine === 'pglite') return [];
  const findings = [
    ...(await sessions(patient)),
    ...(await preparedTransactions(patient)),
    ...(await slots(patient)),
    ...(await visibility(patient)),
  ];
  return findings.length > 0 ? findings : [ok('vacuum', 'Nothing holds vacuum back.')];
}

async function sessions({ db, limits }: Patient): Promise<Finding[]> {
  const rows = await db.query<{ pid: number; who: string; state: string; ms: number; standby: boolean }>({
    text: `
select a.pid, concat_ws(' ', a.usename, nullif(a.application_name, ''), 'in', a.datname) as who,
  coalesce(a.state, a.backend_type) as state, a.backend_type = 'walsender' as standby,
  (extract(epoch from clock_timestamp() - coalesce(a.xact_start, a.backend_start)) * 1000)::float8 as ms
from pg_catalog.pg_stat_activity a
where (a.backend_xmin is not null or a.backend_xid is not null) and a.pid <> pg_backend_pid()
  and a.backend_type in ('client backend', 'walsender')
  and (a.xact_start < clock_timestamp() - make_interval(secs => $1::float8)
    or age(a.backend_xmin) > $2::int)
order by ms desc
limit 5`,
    values: [limits.oldTransactionMs / 1_000, limits.oldHorizon],
  });
  return rows.map(row =>
    warn(
      'vacuum',
      row.standby
        ? `A standby (${row.who}) holds vacuum back through hot_standby_feedback.`
        : `A transaction has been open for ${span(row.ms)} and holds vacuum back (${row.who}, ${row.state}).`,
      row.standby
        ? 'Look for a long query on the standby.'
        : `Let it end, or end it: select pg_terminate_backend(${row.pid}). idle_in_transaction_session_timeout keeps it from happening again.`,
      `process ${row.pid}`,
    ),
  );
}

async function preparedTransactions({ db, limits }: Patient): Promise<Finding[]> {
  const rows = await db.query<{ gid: string; database: string; owner: string; ms: number }>({
    text: `
select gid, database, owner, (extract(epoch from clock_timestamp() - prepared) * 1000)::float8 as ms
from pg_catalog.pg_prepared_xacts
where prepared < clock_timestamp() - make_interval(secs => $1::float8)
order by prepared
limit 5`,
    values: [limits.oldTransactionMs / 1_000],
  });
  return rows.map(row =>
    warn(
      'vacuum',
      `A prepared transaction of ${row.owner} in ${row.database} has waited for ${span(row.ms)}; it keeps its locks and holds vacuum back.`,
      `Commit or roll it back there: rollback prepared '${row.gid.replaceAll("'", "''")}'.`,
      row.gid,
    ),
  );
}

async function slots({ db, limits }: Patient): Promise<Finding[]> {
  const rows = await db.query<{
    name: string;
    horizon: number | null;
    active: boolean;
    status: string | null;
  }>({
    text: `
select slot_name as name, greatest(age(xmin), age(catalog_xmin)) as horizon, active, wal_status as status
from pg_catalog.pg_replication_slots
where not active or age(xmin) > $1::int or age(catalog_xmin) > $1::int or wal_status in ('unreserved', 'lost')`,
    values: [limits.oldHorizon],
  });
  return rows.map(row =>
    warn(
      'vacuum',
      `Replication slot ${row.name} is ${row.active ? 'far behind' : 'not used by anybody'}: it keeps WAL${row.horizon === null ? '' : `, and dead rows of ${row.horizon} transactions`}${row.status === null ? '' : ` (WAL ${row.status})`}.`,
      `If nobody needs it any more: select pg_drop_replication_slot('${row.name}').`,
      row.name,
    ),
  );
}

/** Without the right to see other sessions, the silence of the other questions would mean nothing. */
async function visibility({ db }: Patient): Promise<Finding[]> {
  const [row] = await db.query<{ sees: boolean }>({
    text: `select pg_has_role('pg_read_all_stats', 'USAGE') as sees`,
  });
  if (row?.sees === true) return [];
  return [
    warn(
      'vacuum',
      'This role cannot see the transactions of others, so an old one may go unnoticed.',
      'grant pg_read_all_stats to the role (or pg_monitor).',
    ),
  ];
}
