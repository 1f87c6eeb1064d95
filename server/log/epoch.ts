import type { Db, Queryable } from '../base/db/index.ts';
import { isConnectionFailure, PulsefeedError } from '../base/errors.ts';
import {
  type EpochHeadRow,
  insertEpoch,
  lockEpochHead,
  moveHead,
  secondsSinceKnown,
  systemIdentifier,
  timelineOfServer,
} from './epoch-sql.ts';
import type { Numbering } from './numbering.ts';
import { maxSequence } from './sequence-number.ts';

/**
 * Why an epoch was opened. `restored`: the head's row was written by another transaction than it says, as after dump
 * and restore. `moved`: it came from another server or timeline, as after a failover. `head fell`: this process has
 * seen a higher one. `token`: a signed token proves a higher one. `operator`: `pulsefeed epoch new`.
 */
export type EpochReason = 'restored' | 'moved' | 'head fell' | 'token' | 'operator';

/** A new history of the log, and the numbers `(lostAfter, lostTo]` that may have been handed out and are lost. */
export interface OpenedEpoch {
  readonly epoch: number;
  readonly reason: EpochReason;
  readonly lostAfter: bigint;
  readonly lostTo: bigint;
}

/** Which server this is, as far as this role may read it. */
export interface ServerIdentity {
  readonly systemId: string | undefined;
  readonly timeline: number | undefined;
}

/** What somebody has seen of the log before: the highest number, and the highest epoch. */
export interface SeenBefore {
  readonly head: bigint;
  readonly epoch: number;
}

/** For whoever has seen nothing. */
export const seenNothing: SeenBefore = { head: 0n, epoch: 0 };

/**
 * More than the sequencer can number in a second: a step of seeding, the fastest there is, gives tens of thousands.
 * At this rate the numbers of a dense log stay exact in JavaScript for 285 years, whatever was skipped.
 */
const mostPerSecond = 1_000_000n;

/** For a clock that was set back: at ten thousand numbers a second it covers thirty hours. */
const floor = 1n << 30n;

/** An hour of snowflake numbers, for the same: they have 22 bits below the millisecond. */
const snowflakeHour = 3_600_000n << 22n;

/**
 * The last number that can have been handed out after `lastSeq` was: as many as there is time for since the head was
 * known to be there, and a floor on top. The time is absolute, so of two restores to one backup the later ends above
 * everything that was numbered between them, though the first is forgotten by then. Evidence and, for numbers that
 * carry the time, the clock's own candidate lift it further.
 * @throws EE-900 when Int64 is used up.
 */
export function lastPossibleNumber(known: {
  readonly lastSeq: bigint;
  readonly seconds: number;
  /** Highest number that was seen outside the database. */
  readonly seen: bigint;
  /** The number that would come next. */
  readonly next: bigint;
}): bigint {
  const { lastSeq, seen, next } = known;
  const seconds = BigInt(Math.max(0, Math.ceil(known.seconds)));
  const byTime = lastSeq + seconds * mostPerSecond + floor;
  const byEvidence = seen + floor;
  const byClock = next > lastSeq + 1n ? next + snowflakeHour : 0n;
  const last = [byTime, byEvidence, byClock].reduce((a, b) => (a > b ? a : b));
  // The head itself stands one above, and a first number must be left.
  if (last > maxSequence - 2n) throw new PulsefeedError('EE-900', 'The numbers of Int64 are used up.');
  return last;
}

/** The proof that the database in which the head was locked lost numbers; undefined when there is none. */
export function lossOf(
  head: EpochHeadRow,
  server: ServerIdentity,
  seen: SeenBefore,
): Exclude<EpochReason, 'operator' | 'token'> | undefined {
  if (!head.intact) return 'restored';
  if (head.last_seq < seen.head || head.epoch < seen.epoch) return 'head fell';
  const { systemId, timeline } = server;
  const differs =
    (head.system_id !== null && systemId !== undefined && head.system_id !== systemId) ||
    (head.timeline !== null && timeline !== undefined && head.timeline !== timeline);
  return differs ? 'moved' : undefined;
}

/**
 * Opens a new epoch in a transaction that holds the head lock: records the gap, and moves the head to the number
 * behind it, which is nobody's. A position at the head is thus never inside the gap.
 */
export async function openEpoch(
  tx: Queryable,
  head: EpochHeadRow,
  choice: {
    readonly reason: EpochReason;
    readonly server: ServerIdentity;
    readonly seen: SeenBefore;
    readonly numbering: Numbering;
  },
): Promise<OpenedEpoch> {
  const { reason, server, seen, numbering } = choice;
  const [known] = await tx.query<{ seconds: number | null }>(secondsSinceKnown);
  const lostTo = lastPossibleNumber({
    lastSeq: head.last_seq,
    seconds: known?.seconds ?? 0,
    seen: seen.head,
    next: numbering(head.last_seq),
  });
  const epoch = Math.max(head.epoch, seen.epoch) + 1;
  const opened = { epoch, reason, lostAfter: head.last_seq, lostTo };
  await tx.query(insertEpoch(opened));
  await tx.query(moveHead(lostTo + 1n, epoch, server));
  return opened;
}

/** Below this a lock that is not given is somebody's hung session; the sequencer's own steps take milliseconds. */
const lockLimits = { statementTimeoutMs: 20_000, idleTimeoutMs: 5_000 };

/**
 * Looks under the head lock whether numbers were lost, and opens an epoch if so; undefined when nothing was. Any
 * process may: the lock decides, and whoever comes second finds it done.
 */
export async function openEpochIfLost(
  db: Pick<Db, 'transaction'>,
  numbering: Numbering,
  seen: SeenBefore,
  proof: 'token' | 'head fell',
): Promise<OpenedEpoch | undefined> {
  return db.transaction(async tx => {
    const [head] = await tx.query<EpochHeadRow>(lockEpochHead);
    if (head === undefined) throw new PulsefeedError('EE-300', 'The log has not been set up.');
    const found = lossOf(head, unknownServer, seen);
    if (found === undefined) return undefined;
    const reason = found === 'head fell' ? proof : found;
    return openEpoch(tx, head, { reason, server: unknownServer, seen, numbering });
  }, lockLimits);
}

/** Opens an epoch because the operator says so. @param above a number known to have been handed out. */
export async function openEpochByHand(db: Db, numbering: Numbering, above = 0n): Promise<OpenedEpoch> {
  const server = await readServerIdentity(db);
  return db.transaction(async tx => {
    const [head] = await tx.query<EpochHeadRow>(lockEpochHead);
    if (head === undefined) throw new PulsefeedError('EE-300', 'The log has not been set up.');
    const seen = { head: above, epoch: 0 };
    return openEpoch(tx, head, { reason: 'operator', server, seen, numbering });
  }, lockLimits);
}

/** What is compared when the server was not asked: nothing. */
export const unknownServer: ServerIdentity = { systemId: undefined, timeline: undefined };

/** Asks the server who it is; what this role may not read stays unknown. @throws when the connection fails. */
export async function readServerIdentity(db: Pick<Db, 'transaction'>): Promise<ServerIdentity> {
  const ask = async <Row>(statement: { readonly text: string }): Promise<Row | undefined> => {
    try {
      // Each in a transaction of its own, since a refusal ends it.
      return (await db.transaction(tx => tx.query<Row>(statement)))[0];
    } catch (error) {
      if (isConnectionFailure(error)) throw error;
      return undefined;
    }
  };
  const system = await ask<{ system_id: string }>(systemIdentifier);
  const line = await ask<{ timeline: number }>(timelineOfServer);
  return { systemId: system?.system_id, timeline: line?.timeline };
}
