import type { Db, Queryable } from '../base/db/index.ts';
import { type Appended, appendChanges, type ReportedChange } from './append.ts';
import { Archive } from './archive/index.ts';
import { guardReader } from './epoch-guard.ts';
import { createHeadMemory } from './epoch-memory.ts';
import { dense, type Numbering } from './numbering.ts';
import { createReader, type EventPage, type ReadQuery } from './read.ts';
import { type RetireOptions, type RetireOutcome, retireStep } from './retire.ts';
import { asSequence, type EntityEventSequence } from './sequence-number.ts';
import { Sequencer, type SequencerOptions } from './sequencer.ts';

/**
 * The log of pulses: a number that only grows, the resource, the key (RCP-027). What it promises is written in
 * docs/invariants.md; nothing but these verbs leaves the folder.
 */
export interface EventLog {
  /** Writes changes to the outbox, in `tx` or in a transaction of their own. */
  append(source: string | undefined, changes: readonly ReportedChange[], tx?: Queryable): Promise<Appended>;
  /** A sequencer of one's own; any number may run at once on PostgreSQL. */
  sequence(options: Omit<SequencerOptions, 'db'>): Sequencer;
  /**
   * One page in one statement and one snapshot. Proof that the database lost numbers opens a new epoch first (EPOCH).
   * @throws EE-105 for a reader that stands where numbers or removals were lost, EE-303 when no epoch can be opened,
   * EE-304 when it is archived and cannot be read, EE-112 for a count or an order that reaches into the archive.
   */
  read(query: ReadQuery): Promise<EventPage>;
  /** Where the log stands. */
  head(): Promise<Head>;
  /** Takes from the log a part of what forward compaction allows (COMPACT); nothing else deletes from it. */
  retire(options: RetireOptions): Promise<RetireOutcome>;
}

/** The last number handed out, the epoch, and how long the oldest unnumbered change has waited (0: none waits). */
export interface Head {
  readonly head: EntityEventSequence;
  readonly epoch: number;
  readonly waitingMs: number;
}

/**
 * The log that lives in `db`, whose migrations have run. It remembers the highest number it has seen.
 * @param numbering how numbers grow, for where a new epoch begins.
 * @param archive where numbers that were archived are read; without it they are answered with EE-304.
 */
export function openLog(
  db: Db,
  numbering: Numbering = dense,
  archive: Archive = new Archive(undefined),
): EventLog {
  const memory = createHeadMemory();
  const read = guardReader(createReader(db, archive), { db, numbering, memory });
  return {
    append: (source, changes, tx) =>
      tx === undefined
        ? db.transaction(own => appendChanges(own, source, changes))
        : appendChanges(tx, source, changes),
    sequence: options => new Sequencer({ memory, ...options, db }),
    read,
    retire: options => retireStep(db, options),
    async head() {
      const [row] = await db.query<{ last_seq: bigint; epoch: number; waiting_ms: number | null }>({
        name: 'log_head',
        text: `
select h.last_seq, h.epoch,
  (select (extract(epoch from now() - c.at) * 1000)::float8
   from pulsefeed.record_change c order by c.xid, c.id limit 1) as waiting_ms
from pulsefeed.log_head h`,
      });
      return {
        head: asSequence(row?.last_seq ?? 0n),
        epoch: row?.epoch ?? 0,
        waitingMs: row?.waiting_ms ?? 0,
      };
    },
  };
}

export type { Appended, ReportedChange } from './append.ts';
export {
  Archive,
  type ArchiveStore,
  archivedTo,
  archiveStep,
  type MoveOptions,
  type MoveOutcome,
  type MovePoint,
  openStore,
  queueLostInArchive,
  readEntries,
  type Segment,
  type SegmentEntry,
} from './archive/index.ts';
export { historyInsert, maxKeyLength, outbox, outboxInsert } from './capture-sql.ts';
export {
  type EpochReason,
  lossOf,
  type OpenedEpoch,
  openEpochByHand,
  readServerIdentity,
  seenNothing,
} from './epoch.ts';
export { type EpochRow, intactSql, listEpochs, readEpochHead } from './epoch-sql.ts';
export {
  type HeadHolder,
  type LogHealth,
  pendingCap,
  readLogHealth,
  sampleUnknown,
  storedCounts,
} from './health.ts';
export type { Standing } from './horizon.ts';
export { type DropOutcome, dropTombstones } from './horizon-drop.ts';
export { carryHorizon, lockTombstones } from './horizon-sql.ts';
export { dense, type Numbering, snowflake } from './numbering.ts';
export {
  queueAll,
  queueGained,
  queueLost,
  queueMatching,
  type WalkPart,
  type WalkPlace,
  waitingChanges,
} from './queue.ts';
export {
  type EventPage,
  eventAlias,
  eventColumns,
  eventFeedTypes,
  type Pulse,
  type ReadQuery,
  type SqlFragment,
} from './read.ts';
export {
  type LiveWalk,
  type ReconciledChunk,
  type ReconcileWindow,
  reconcileLive,
  reconcileStored,
} from './reconcile.ts';
export type { FollowedParent, LiveTable, RecordSource, SourceSet } from './record-source.ts';
export {
  planRetiring,
  type RetireCheck,
  type RetireLag,
  type RetireOptions,
  type RetireOutcome,
  type RetirePlan,
  type RetireRange,
  retireFromStart,
} from './retire.ts';
export type { PlannedLoss, RetiredRow } from './retire-sql.ts';
export { digestOf, lockRules, publishRules, type RuleSet, writeRules } from './rule-set.ts';
export { asSequence, type EntityEventSequence, maxSequence } from './sequence-number.ts';
export { noDueAt, type Sequencer, type SequencerOptions, type StepOutcome } from './sequencer.ts';
export { defaultPace, type Pace, SequencerLoop } from './sequencer-loop.ts';
export {
  isSwept,
  type SweepOptions,
  type SweepOutcome,
  type SweptPart,
  sweep,
  worthSweeping,
} from './sweep.ts';
export { numberedWrites, type WriteTransaction } from './write-numbered.ts';
