import type { Db, Queryable, Session, Statement } from '../base/db/index.ts';
import type { RetireCheck } from './retire.ts';
import {
  countMissing,
  createPlan,
  dropRange,
  finishPlan,
  internPlanned,
  narrowRange,
  planPart,
} from './sweep-sql.ts';

/** What a sweep is given. */
export interface SweepOptions {
  readonly db: Db;
  /** Where the lag ends, as a step of `EventLog.retire` said: nothing above it goes or covers. */
  readonly target: bigint;
  /** Pulses that one transaction looks at; absent: 50,000, a tenth of a second. */
  readonly rows?: number;
  /** Shares of the keys that are planned one after the other; absent: as the size of the log asks for. */
  readonly parts?: number;
  /** Rests after each transaction, given the milliseconds that it worked. */
  readonly rest: (workedMs: number) => Promise<void>;
  readonly now: () => number;
  readonly check?: RetireCheck;
  readonly signal?: AbortSignal;
  /** Told after each transaction that changed the log. */
  readonly onPart?: (part: SweptPart) => void;
}

/** What one transaction of a sweep did. */
export interface SweptPart {
  readonly examined: number;
  readonly dropped: number;
  readonly narrowed: number;
  /** The log was gone through up to here. */
  readonly upTo: bigint;
}

/** How a sweep ended. */
export type SweepOutcome =
  /** The log is compact up to the target. */
  | 'swept'
  /** Everything up to the target was looked at before. */
  | 'idle'
  /** Another session is at it. */
  | 'standby'
  /** A full pass was asked for meanwhile, or others narrowed what was planned otherwise: what was done holds. */
  | 'overtaken'
  /** The signal ended it; what was done holds. */
  | 'stopped';

/** An arbitrary constant: whoever holds this advisory lock sweeps, so that no second one plans the same in vain. */
const sweepLock = 5_278_113_905_227_701n;

const limits = { statementTimeoutMs: 600_000, idleTimeoutMs: 60_000 };

/**
 * A part of the plan reads the whole table in its order and hashes; what stays is a few rows a key, small against the
 * memory that this allows. Loops over what was estimated as one row and is a million are ruled out.
 */
const planning = `
set local jit = off; set local work_mem = '64MB'; set local max_parallel_workers_per_gather = 0;
set local enable_nestloop = off`;

/**
 * Changes go by ranges of the log's primary key. Their commits are not waited for: one that a crash of Postgres loses
 * takes the watermark, which stands in the same transaction, back with it, and what came later in the write-ahead log
 * is lost as well. The pulses are there again and are dropped again; nobody was promised that they are gone.
 */
const changing = `
set local jit = off; set local work_mem = '64MB'; set local max_parallel_workers_per_gather = 0;
set local enable_seqscan = off; set local synchronous_commit = off`;

/**
 * Compacts everything up to the target by going through the log once: for a backlog that is large against the log, where
 * looking at each pulsed key by itself (`EventLog.retire`) costs many times as much.
 *
 * First a plan of what stays, made from one snapshot a share of the keys, kept in this session; then the changes,
 * range by range in the order of the log, each in its own short transaction under the watermark's lock. A plan stays
 * true while it waits: a pulse goes because of a later one in the same feed, and whoever takes that one from the feed
 * meanwhile does so because of one later still. Killed anywhere, what was done is right; the next run plans anew.
 * PostgreSQL only.
 */
export async function sweep(options: SweepOptions): Promise<SweepOutcome> {
  const session = await options.db.session();
  try {
    const [locked] = await session.transaction(tx =>
      tx.query<{ free: boolean }>({ text: `select pg_try_advisory_lock(${sweepLock}) as free` }),
    );
    if (locked?.free !== true) return 'standby';
    try {
      return await sweepIn(session, options);
    } finally {
      // Of a session that was lost the lock is gone as well; the reason why is what the caller is told.
      await session
        .transaction(tx => tx.query({ text: `select pg_advisory_unlock(${sweepLock})` }))
        .catch(() => undefined);
    }
  } finally {
    await session.close();
  }
}

/** Whether another session sweeps now: what it is about to take away need not be looked at. */
export async function isSwept(db: Queryable): Promise<boolean> {
  const [row] = await db.query<{ swept: boolean }>({
    text: `
select exists (
  select from pg_locks
  where locktype = 'advisory' and database = (select oid from pg_database where datname = current_database())
    and (classid::bigint << 32) + objid::bigint = ${sweepLock} and objsubid = 1 and pid <> pg_backend_pid()
) as swept`,
  });
  return row?.swept === true;
}

async function sweepIn(session: Session, options: SweepOptions): Promise<SweepOutcome> {
  const done = await session.transaction(readMark);
  if (options.target <= done) return 'idle';
  if (!(await plan(session, options))) return 'stopped';
  return applyPlan(session, done, options);
}

async function readMark(tx: Queryable): Promise<bigint> {
  const [row] = await tx.query<{ done_seq: bigint }>({
    text: 'select done_seq from pulsefeed.compaction for update',
  });
  if (row === undefined) throw new Error('the watermark of compaction is missing');
  return row.done_seq;
}

/** Fills this session's plan; false when the signal came before it was whole. */
async function plan(session: Session, options: SweepOptions): Promise<boolean> {
  const { db, target, signal } = options;
  const timed = timedBy(options);
  const parts = options.parts ?? partsFor(await logRows(db));
  await session.transaction(tx => tx.script(createPlan), limits);
  for (let part = 0; part < parts; part += 1) {
    if (signal?.aborted === true) return false;
    await timed(() =>
      session.transaction(async tx => {
        await tx.script(planning);
        await tx.query(planPart(target, part, parts));
      }, limits),
    );
  }
  await timed(() =>
    session.transaction(async tx => {
      await tx.script(planning);
      await tx.script(finishPlan);
    }, limits),
  );
  const [row] = await session.transaction(tx => tx.query<{ missing: bigint }>(countMissing), limits);
  if (row?.missing !== 0n) {
    await session.transaction(async tx => {
      await tx.query({ text: 'select from pulsefeed.log_head for update' });
      await tx.query(internPlanned);
    }, limits);
  }
  return true;
}

/**
 * Each part reads the table once, so a log of a hundred times the rows takes ten times the parts, each of which
 * takes ten times as long: 10 million pulses make 5 of three to four seconds.
 */
function partsFor(rows: number): number {
  return Math.min(64, Math.max(1, Math.round(Math.sqrt(rows / 400_000))));
}

/**
 * Carries the plan out. A range is narrowed one transaction after it lost rows: their room on the page is free by
 * then, the shorter row finds its place there, and no index has to learn of a new one.
 */
async function applyPlan(session: Session, done: bigint, options: SweepOptions): Promise<SweepOutcome> {
  const { target, signal, onPart } = options;
  const timed = timedBy(options);
  let place: Place = { narrowedTo: 0n, droppedTo: 0n, done, overtaken: false };
  while (place.narrowedTo < target) {
    if (signal?.aborted === true) return 'stopped';
    const { next, part } = await timed(() =>
      session.transaction(tx => applyPart(tx, place, options), limits),
    );
    place = next;
    onPart?.(part);
  }
  return place.overtaken ? 'overtaken' : 'swept';
}

interface Place {
  readonly narrowedTo: bigint;
  readonly droppedTo: bigint;
  /** The watermark as this session saw or left it last. */
  readonly done: bigint;
  readonly overtaken: boolean;
}

async function applyPart(
  tx: Queryable,
  place: Place,
  { target, rows: most = partRows, check }: SweepOptions,
): Promise<{ readonly next: Place; readonly part: SweptPart }> {
  await tx.script(changing);
  const found = await readMark(tx);
  const { end, rows } = await endOfPart(tx, place.droppedTo, target, most);
  const range = { after: place.narrowedTo, upTo: end };
  await check?.before(tx, range);
  await tx.script(changing);
  const { rows: narrowed, astray = 0 } = await changedBy(tx, narrowRange(place.narrowedTo, place.droppedTo));
  const { rows: dropped } = await changedBy(tx, dropRange(place.droppedTo, end));
  // Steps of others only raise the watermark, and both are right about what is below theirs. Who lowers it asks for a
  // pass that this plan may have been too early for.
  const overtaken = place.overtaken || found < place.done || astray > 0;
  const done = overtaken || place.droppedTo < found ? found : place.droppedTo;
  await tx.query({
    text: `
update pulsefeed.compaction
set done_seq = $1, dropped = dropped + $2, narrowed = narrowed + $3, moved_at = now()`,
    values: [done, dropped, narrowed],
  });
  await check?.after(tx, range, { examined: rows, dropped, narrowed, missing: 0 });
  return {
    next: { narrowedTo: place.droppedTo, droppedTo: end, done, overtaken },
    part: { examined: rows, dropped, narrowed, upTo: place.droppedTo },
  };
}

/** 50,000 took 90 ms where 20,000 took 40 and 200,000 400: larger ones gain nothing. */
const partRows = 50_000;

async function endOfPart(
  tx: Queryable,
  after: bigint,
  target: bigint,
  limit: number,
): Promise<{ readonly end: bigint; readonly rows: number }> {
  const [found] = await tx.query<{ last: bigint | null; rows: number }>({
    text: `
select max(seq) as last, count(*)::int as rows
from (select seq from pulsefeed.entity_event where seq > $1 and seq <= $2 order by seq limit $3) p`,
    values: [after, target, limit],
  });
  const rows = found?.rows ?? 0;
  return { end: rows < limit ? target : (found?.last ?? target), rows };
}

/** How many rows a statement changed, and how many it found that are neither as planned nor settled. */
interface Changed {
  readonly rows: number;
  readonly astray?: number;
}

async function changedBy(tx: Queryable, statement: Statement): Promise<Changed> {
  const [row] = await tx.query<Changed>(statement);
  if (row === undefined) throw new Error('a part of the sweep returned no row');
  return row;
}

/** Rests after what it runs, as long as the caller says. */
function timedBy({ now, rest }: SweepOptions): <T>(work: () => Promise<T>) => Promise<T> {
  return async work => {
    const startedAt = now();
    const result = await work();
    await rest(now() - startedAt);
    return result;
  };
}

/**
 * Whether what is left of a backlog, after a step went up to `upTo`, is large enough against the log to go through all of
 * it. Always false on PGlite, whose one session a sweep would hold for seconds.
 */
export async function worthSweeping(
  db: Db,
  { upTo, target }: { readonly upTo: bigint; readonly target: bigint },
): Promise<boolean> {
  if (db.engine !== 'postgres') return false;
  const least = Math.max(leastBacklog, Math.floor((await logRows(db)) / worthFactor));
  // Numbers need not be dense: the cheap bound first, the pulses themselves only where it holds.
  if (target - upTo < BigInt(least)) return false;
  const [row] = await db.query<{ large: boolean }>({
    text: `
select exists (
  select from pulsefeed.entity_event where seq > $1 and seq <= $2 order by seq offset $3 limit 1
) as large`,
    values: [upTo, target, least - 1],
  });
  return row?.large === true;
}

/** Below this the steps are done in seconds. */
const leastBacklog = 100_000;

/** In one run over 1,000,000 pulses a sweep took 7 microseconds for each row of the log, steps 22 for each pulse. */
const worthFactor = 4;

/** About how many rows the log has, from the size of its file: statistics may be old or missing. */
async function logRows(db: Queryable): Promise<number> {
  const [row] = await db.query<{ bytes: bigint }>({
    text: `select pg_relation_size('pulsefeed.entity_event') as bytes`,
  });
  return Number(row?.bytes ?? 0n) / bytesOfRow;
}

/** A row with its header and a key of a dozen characters, measured over 10 million. */
const bytesOfRow = 68;
