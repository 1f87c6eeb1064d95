import type { Queryable } from '../base/db/index.ts';
import { leaseFree } from './due-sql.ts';

/** Moves cursors over pulses that are not theirs, for subscriptions that nobody is at and that have nothing frozen. */
export async function skipForeign(
  db: Queryable,
  places: readonly { readonly id: string; readonly cursor: bigint; readonly to: bigint }[],
): Promise<void> {
  if (places.length === 0) return;
  await db.query({
    text: `
update pulsefeed.push_subscription s set cursor_seq = p.to_seq
from jsonb_to_recordset($1) as p (id text, cursor bigint, to_seq bigint)
where s.id = p.id and s.cursor_seq = p.cursor and s.batch_hi is null and s.state = 'active' and ${leaseFree}`,
    values: [
      JSON.stringify(
        places.map(({ id, cursor, to }) => ({ id, cursor: String(cursor), to_seq: String(to) })),
      ),
    ],
  });
}

/** Gives a frozen batch up, its cursor moved to `to`, unless somebody is at it. */
export async function thaw(
  db: Queryable,
  place: { readonly id: string; readonly cursor: bigint; readonly hi: bigint; readonly to: bigint },
): Promise<void> {
  await db.query({
    text: `
update pulsefeed.push_subscription s set cursor_seq = $4, batch_hi = null, attempt = 0, unsettled = 0
where s.id = $1 and s.cursor_seq = $2 and s.batch_hi = $3 and s.state = 'active' and ${leaseFree}`,
    values: [place.id, place.cursor, place.hi, place.to],
  });
}

/** Marks a dead letter as overtaken: its pulse is not there for the consumer, and a later one tells of the record. */
export async function supersede(db: Queryable, letterId: bigint): Promise<void> {
  await db.query({
    text: `
with letter as (
  update pulsefeed.push_dead_letter set state = 'superseded', at = now()
  where id = $1 and state = 'queued' returning id, subscription_id
)
update pulsefeed.push_subscription s
set redrive = exists (
  select from pulsefeed.push_dead_letter d
  where d.subscription_id = s.id and d.state = 'queued' and d.id <> l.id
)
from letter l where s.id = l.subscription_id`,
    values: [letterId],
  });
}

/** Stops subscriptions that cannot go on from their cursor without leaving the endpoint with a wrong copy. */
export async function mustReinitialise(db: Queryable, ids: readonly string[], reason: string): Promise<void> {
  await db.query({
    text: `
update pulsefeed.push_subscription s
set state = 'must-reinitialise', reason = $2, state_at = now(), batch_hi = null, attempt = 0, unsettled = 0
where s.id = any ($1) and s.state = 'active' and ${leaseFree}`,
    values: [[...ids], reason],
  });
}

const rowsOfPart = 10_000;
const mostParts = 50;

/** Deletes what is older than the retention, a part at a time. */
export async function sweep(db: Queryable, retentionDays: number): Promise<void> {
  for (let part = 0; part < mostParts; part += 1) {
    const [row] = await db.query<{ deleted: number }>({
      text: `
with gone as (
  delete from pulsefeed.push_attempt
  where ctid = any (array(
    select ctid from pulsefeed.push_attempt where at < now() - $1 * interval '1 day' limit ${rowsOfPart}
  ))
  returning 1
)
select count(*)::int as deleted from gone`,
      values: [retentionDays],
    });
    if ((row?.deleted ?? 0) < rowsOfPart) break;
  }
  await db.query({
    text: `delete from pulsefeed.push_worker where alive_until < now() - interval '1 hour'`,
  });
}
