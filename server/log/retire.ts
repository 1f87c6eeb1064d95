import type { Db, Queryable } from '../base/db/index.ts';
import {
  internMissing,
  type PlannedLoss,
  planLosses,
  planRows,
  type RetiredRow,
  retireRange,
} from './retire-sql.ts';
import { asSequence, type EntityEventSequence } from './sequence-number.ts';

/** How far behind the head compaction stays: so many pulses, or so much time. */
export type RetireLag = { readonly events: bigint } | { readonly seconds: number };

/** Pulses numbered in `(after, upTo]`. */
export interface RetireRange {
  readonly after: bigint;
  readonly upTo: bigint;
}

/** Looks at the log around the changes of one step, in the same transaction; what it throws undoes the step. */
export interface RetireCheck {
  before(tx: Queryable, range: RetireRange): Promise<void>;
  after(tx: Queryable, range: RetireRange, changes: RetiredRow): Promise<void>;
}

/** What a step is asked to do. */
export interface RetireOptions {
  readonly lag: RetireLag;
  /** Pulses whose keys are looked at in one step. */
  readonly limit: number;
  readonly check?: RetireCheck;
  /** Begins after this number instead of the watermark, and undoes what it did: to see `check` hold, or not. */
  readonly rehearseAfter?: bigint;
}

/** What one step did. */
export type RetireOutcome =
  /** Everything up to the lag was looked at before. */
  | { readonly kind: 'idle' }
  /** Another session is compacting. */
  | { readonly kind: 'standby' }
  | {
      readonly kind: 'retired';
      readonly examined: number;
      readonly dropped: number;
      readonly narrowed: number;
      readonly upTo: EntityEventSequence;
      /** Where the lag ends. */
      readonly target: EntityEventSequence;
    };

/** What compacting would do. */
export interface RetirePlan extends RetireRange {
  readonly resources: readonly {
    readonly resource: string;
    readonly examined: bigint;
    readonly dropped: bigint;
    readonly narrowed: bigint;
  }[];
  readonly losses: readonly PlannedLoss[];
  /** Of the log with its indexes and postings, and what the rows that would go take of it on average. */
  readonly logBytes: bigint;
  readonly droppedBytes: bigint;
}

/** A step looks at tens of thousands of rows in one statement: one that takes minutes is stuck. */
const stepLimits = { statementTimeoutMs: 300_000, idleTimeoutMs: 30_000 };

/**
 * Estimates of the parts of so long a statement are far off: scans of the whole log are ruled out, and compiling what
 * runs for milliseconds. Sorts of a step's rows stay in memory.
 */
const planning = `set local enable_seqscan = off; set local enable_mergejoin = off; set local jit = off; set local work_mem = '64MB'`;

/**
 * Retires the next part of `(watermark, head - lag]` in one transaction that moves the watermark with it: killed
 * anywhere, it is done whole or not at all. One session at a time; the others stand by.
 */
export async function retireStep(db: Db, options: RetireOptions): Promise<RetireOutcome> {
  for (;;) {
    const found = await transactionOf(db, options);
    if (found.kind !== 'missing') return found;
    await db.transaction(async tx => {
      await tx.script(planning);
      await tx.query({ text: 'select from pulsefeed.log_head for update' });
      await tx.query(internMissing(found.after, found.upTo));
    }, stepLimits);
  }
}

type Tried = RetireOutcome | ({ readonly kind: 'missing' } & RetireRange);

class Rehearsed extends Error {
  readonly tried: Tried;
  constructor(tried: Tried) {
    super('rehearsed');
    this.tried = tried;
  }
}

async function transactionOf(db: Db, options: RetireOptions): Promise<Tried> {
  try {
    return await db.transaction(async tx => {
      const tried = await tryStep(tx, options);
      if (options.rehearseAfter !== undefined) throw new Rehearsed(tried);
      return tried;
    }, stepLimits);
  } catch (error) {
    if (error instanceof Rehearsed) return error.tried;
    throw error;
  }
}

async function tryStep(tx: Queryable, { lag, limit, check, rehearseAfter }: RetireOptions): Promise<Tried> {
  const [mark] = await tx.query<{ done_seq: bigint }>({
    text: 'select done_seq from pulsefeed.compaction for update skip locked',
  });
  if (mark === undefined) return { kind: 'standby' };
  const after = rehearseAfter ?? mark.done_seq;
  const target = await lagEnd(tx, lag);
  if (target <= after) return { kind: 'idle' };
  const [part] = await tx.query<{ last: bigint | null }>({
    text: `
select max(seq) as last
from (select seq from pulsefeed.entity_event where seq > $1 and seq <= $2 order by seq limit $3) p
having count(*) = $3`,
    values: [after, target, limit],
  });
  const range = { after, upTo: part?.last ?? target };
  await check?.before(tx, range);
  await tx.script(planning);
  const [changes] = await tx.query<RetiredRow>(retireRange(range.after, range.upTo));
  if (changes === undefined) throw new Error('retiring returned no row');
  if (changes.missing > 0) return { kind: 'missing', ...range };
  await tx.query({
    text: `
update pulsefeed.compaction
set done_seq = $1, dropped = dropped + $2, narrowed = narrowed + $3, moved_at = now()`,
    values: [range.upTo, changes.dropped, changes.narrowed],
  });
  await check?.after(tx, range, changes);
  const { examined, dropped, narrowed } = changes;
  return {
    kind: 'retired',
    examined,
    dropped,
    narrowed,
    upTo: asSequence(range.upTo),
    target: asSequence(target),
  };
}

/** The last number that may be retired: pulses above it neither go nor cover. 0 when nothing is old enough. */
export async function lagEnd(db: Queryable, lag: RetireLag): Promise<bigint> {
  const statement =
    'seconds' in lag
      ? {
          text: `select seq from pulsefeed.log_time where at <= now() - make_interval(secs => $1) order by at desc limit 1`,
          values: [lag.seconds],
        }
      : lag.events === 0n
        ? { text: 'select last_seq as seq from pulsefeed.log_head' }
        : {
            text: 'select seq from pulsefeed.entity_event order by seq desc offset $1 limit 1',
            values: [lag.events],
          };
  const [row] = await db.query<{ seq: bigint }>(statement);
  return row?.seq ?? 0n;
}

/** What compacting up to the lag would do, read in one transaction that changes nothing. */
export async function planRetiring(db: Db, lag: RetireLag): Promise<RetirePlan> {
  return db.transaction(async tx => {
    await tx.script(`set transaction isolation level repeatable read, read only; ${planning}`);
    const [mark] = await tx.query<{ done_seq: bigint }>({
      text: 'select done_seq from pulsefeed.compaction',
    });
    const after = mark?.done_seq ?? 0n;
    const upTo = await lagEnd(tx, lag);
    const resources = await tx.query<RetirePlan['resources'][number]>(planRows(after, upTo));
    const losses = await tx.query<PlannedLoss>(planLosses(after, upTo));
    const [size] = await tx.query<{ bytes: bigint; rows: bigint }>({
      text: `
select pg_total_relation_size('pulsefeed.entity_event') + pg_total_relation_size('pulsefeed.event_feed') as bytes,
  (select count(*) from pulsefeed.entity_event) as rows`,
    });
    const { bytes = 0n, rows = 0n } = size ?? {};
    const dropped = resources.reduce((sum, row) => sum + row.dropped, 0n);
    return {
      after,
      upTo,
      resources,
      losses,
      logBytes: bytes,
      droppedBytes: rows === 0n ? 0n : (bytes * dropped) / rows,
    };
  });
}

/** Makes the next step begin with the first pulse again, for what became droppable without a pulse of its own. */
export async function retireFromStart(db: Queryable): Promise<void> {
  await db.query({ text: 'update pulsefeed.compaction set done_seq = 0' });
}
