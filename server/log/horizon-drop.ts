import type { Db } from '../base/db/index.ts';
import { type DroppedRow, dropHidden, lockTombstones } from './horizon-sql.ts';
import { asSequence, type EntityEventSequence } from './sequence-number.ts';

/** What one step of dropping did. */
export type DropOutcome =
  /** Everything that is old enough was looked at before, or a walk is still telling consumers what they lost. */
  | { readonly kind: 'idle' }
  /** Another session compacts or drops. */
  | { readonly kind: 'standby' }
  | {
      readonly kind: 'dropped';
      readonly examined: number;
      readonly dropped: number;
      readonly upTo: EntityEventSequence;
      /** The last number that is old enough. */
      readonly target: EntityEventSequence;
    };

/** A step looks at tens of thousands of rows in one statement: one that takes minutes is stuck. */
const stepLimits = { statementTimeoutMs: 300_000, idleTimeoutMs: 30_000 };

/** Pulses behind a part in which a feed is looked for: a hundredth of a second each feed that ended. */
const lookAhead = 50_000;

/**
 * Looks at the next `limit` pulses that are older than `olderThanS` seconds and drops those of records that are deleted
 * or hidden; each is looked at once. One that shows its record then and is hidden later is covered by a later pulse,
 * and is compaction's. In one transaction, with the watermark and the horizon: killed anywhere, it is done whole or not.
 */
export async function dropTombstones(
  db: Db,
  { olderThanS, limit }: { readonly olderThanS: number; readonly limit: number },
): Promise<DropOutcome> {
  return db.transaction(async tx => {
    // Compactors delete and move rows by their place, and so do we: one at a time.
    const locked = await tx.query({ text: 'select from pulsefeed.compaction for update skip locked' });
    if (locked.length === 0) return { kind: 'standby' };
    await tx.query(lockTombstones);
    const [mark] = await tx.query<{ done_seq: bigint; target: bigint | null; walking: boolean }>({
      text: `
select done_seq, (
  select seq from pulsefeed.log_time where at <= now() - make_interval(secs => $1) order by at desc limit 1
) as target, exists (select from pulsefeed.visibility_walk where finished_at is null) as walking
from pulsefeed.tombstone`,
      values: [olderThanS],
    });
    const { done_seq: after = 0n, target = null, walking = false } = mark ?? {};
    if (walking || target === null || target <= after) return { kind: 'idle' };
    const [part] = await tx.query<{ last: bigint | null }>({
      text: `
select max(seq) as last
from (select seq from pulsefeed.entity_event where seq > $1 and seq <= $2 order by seq limit $3) p
having count(*) = $3`,
      values: [after, target, limit],
    });
    const upTo = part?.last ?? target;
    // Compiling the statement costs more than it saves, and the log is never to be read whole.
    await tx.script('set local jit = off; set local enable_seqscan = off');
    const [row] = await tx.query<DroppedRow>(dropHidden(after, upTo, lookAhead));
    const { examined = 0, dropped = 0 } = row ?? {};
    await tx.query({
      text: 'update pulsefeed.tombstone set done_seq = $1, dropped = dropped + $2, moved_at = now()',
      values: [upTo, dropped],
    });
    return { kind: 'dropped', examined, dropped, upTo: asSequence(upTo), target: asSequence(target) };
  }, stepLimits);
}
