import type { Queryable, Statement } from '../base/db/index.ts';
import type { OpenedEpoch, ServerIdentity } from './epoch.ts';

/** What the head's row tells of its own history. */
export interface EpochHeadRow {
  readonly last_seq: bigint;
  readonly epoch: number;
  /** False when another transaction wrote the row than it says: it was restored. */
  readonly intact: boolean;
  readonly system_id: string | null;
  readonly timeline: number | null;
}

/** Whether `alias`, a row of log_head, was written by the transaction that it names; the upper half of that id is not kept in rows. */
export const intactSql = (alias: string): string =>
  `(${alias}.writer is null or ${alias}.xmin = ${alias}.writer::xid)`;

/** The columns of `EpochHeadRow`, over alias `h`. */
export const epochHeadColumns = `h.last_seq, h.epoch, ${intactSql('h')} as intact, h.system_id, h.timeline`;

/** Takes the head and waits for it. */
export const lockEpochHead: Statement = {
  text: `select ${epochHeadColumns} from pulsefeed.log_head h for update`,
};

/** Seconds since the last moment of which the database knows that its head was there already. */
export const secondsSinceKnown: Statement = {
  text: `
select extract(epoch from clock_timestamp() - greatest(
  (select max(at) from pulsefeed.log_time), (select max(opened_at) from pulsefeed.epoch)
))::float8 as seconds`,
};

export const systemIdentifier: Statement = {
  text: 'select system_identifier::text as system_id from pg_catalog.pg_control_system()',
};

/** By the name of the file that is written now: the control file shows a new timeline only at its next checkpoint. */
export const timelineOfServer: Statement = {
  text: `
select ('x' || left(pg_catalog.pg_walfile_name(pg_catalog.pg_current_wal_lsn()), 8))::bit(32)::integer as timeline`,
};

export function insertEpoch({ epoch, reason, lostAfter, lostTo }: OpenedEpoch): Statement {
  return {
    text: `insert into pulsefeed.epoch (epoch, reason, lost_after, lost_to) values ($1, $2, $3, $4)`,
    values: [epoch, reason, lostAfter, lostTo],
  };
}

/** Moves the head over a gap and wakes the waiting. */
export function moveHead(head: bigint, epoch: number, server: ServerIdentity): Statement {
  return {
    text: `
with moved as (
  update pulsefeed.log_head
  set last_seq = $1::bigint, epoch = $2, system_id = coalesce($3, system_id), timeline = coalesce($4, timeline)
), timed as (
  insert into pulsefeed.log_time (seq, at) values ($1::bigint, now()) on conflict (seq) do nothing
)
select pg_notify('pulsefeed_head', $1::bigint::text)`,
    values: [head, epoch, server.systemId ?? null, server.timeline ?? null],
  };
}

/** Keeps which server writes, the first time that it can be read. */
export function keepServer({ systemId, timeline }: ServerIdentity): Statement {
  return {
    text: `update pulsefeed.log_head set system_id = coalesce(system_id, $1), timeline = coalesce(timeline, $2)`,
    values: [systemId ?? null, timeline ?? null],
  };
}

/** The head's row without its lock; undefined before the migrations. */
export async function readEpochHead(db: Queryable): Promise<EpochHeadRow | undefined> {
  const [head] = await db.query<EpochHeadRow>({
    text: `select ${epochHeadColumns} from pulsefeed.log_head h`,
  });
  return head;
}

/** An epoch as it stands in the database. */
export interface EpochRow {
  readonly epoch: number;
  readonly opened_at: Date;
  readonly reason: OpenedEpoch['reason'] | 'first';
  readonly lost_after: bigint;
  readonly lost_to: bigint;
}

/** All epochs in their order; the first lost nothing. */
export function listEpochs(db: Queryable): Promise<EpochRow[]> {
  return db.query<EpochRow>({
    text: 'select epoch, opened_at, reason, lost_after, lost_to from pulsefeed.epoch order by epoch',
  });
}
