import { setTimeout as pause } from 'node:timers/promises';
import type { Db, Queryable } from '../base/db/index.ts';

/** A transaction of a writer, as `Db.transaction`. */
export type WriteTransaction = Db['transaction'];

/** How a writer waits. */
export interface WriteWait {
  /** Milliseconds; 0 waits for nothing. */
  readonly mostMs: number;
  /** Called when something was committed: wakes the sequencer of this process. */
  readonly committed: () => void;
}

/**
 * Transactions that resolve when what they wrote has its numbers, so that whoever is told of a write finds it, and may
 * change it, in the next request. After `mostMs` they resolve all the same: the write is committed, and its numbers
 * come as soon as the sequencer does. A failure is a failure of the transaction, never of the waiting.
 */
export function numberedWrites(db: Db, { mostMs, committed }: WriteWait): WriteTransaction {
  return async (work, options) => {
    const { result, xid } = await db.transaction(async tx => {
      const done = await work(tx);
      const [row] = await tx.query<{ xid: string | null }>({
        text: 'select pg_current_xact_id_if_assigned()::text as xid',
      });
      return { result: done, xid: row?.xid ?? undefined };
    }, options);
    if (xid === undefined) return result;
    committed();
    await untilNumbered(db, xid, mostMs);
    return result;
  };
}

const firstPauseMs = 2;
const longestPauseMs = 50;

async function untilNumbered(db: Queryable, xid: string, mostMs: number): Promise<void> {
  const until = performance.now() + mostMs;
  for (let ms = firstPauseMs; performance.now() < until; ms = Math.min(longestPauseMs, ms * 1.5)) {
    await pause(ms);
    if (!(await waits(db, xid))) return;
  }
}

/** What was taken into a large batch has no number before the batch ends; what began behind it waits for that anyway. */
async function waits(db: Queryable, xid: string): Promise<boolean> {
  try {
    const [row] = await db.query<{ waits: boolean }>({
      name: 'write_waits',
      text: `
select exists (select from pulsefeed.record_change where xid = $1::xid8)
  or batch_stage is not null as waits
from pulsefeed.log_head`,
      values: [xid],
    });
    return row?.waits === true;
  } catch {
    // The write is committed: to answer it with a fault would make its client write again.
    return false;
  }
}
