import type { Db, Queryable, Session } from '../base/db/index.ts';
import { PulsefeedError, sqlState } from '../base/errors.ts';
import {
  type BatchTables,
  createStepTables,
  expandTruncate,
  type HeadRow,
  keepStep,
  largeTables,
  lockHead,
  nextSeedPart,
  queueDue,
  resourcesInBatch,
  type SeedPartRow,
  setStage,
  stepTables,
  type TakenRow,
  takePart,
  takeTransactions,
  widenSeedStep,
} from './batch-sql.ts';
import { lossOf, type OpenedEpoch, openEpoch, readServerIdentity, unknownServer } from './epoch.ts';
import { createHeadMemory, type HeadMemory } from './epoch-memory.ts';
import { keepServer } from './epoch-sql.ts';
import { evaluate, expandFlips, type Follower, type SeedRange } from './evaluate-sql.ts';
import { type NumberedRow, numberPulses, setDepths } from './number-sql.ts';
import { type Numbering, usedUp } from './numbering.ts';
import { type RecordSource, type SourceSet, unconfigured } from './record-source.ts';
import { asSequence, type EntityEventSequence } from './sequence-number.ts';

/** What one step did. */
export type StepOutcome =
  /** Nothing was waiting. */
  | { readonly kind: 'idle' }
  /** Another session holds the head and is numbering. */
  | { readonly kind: 'standby' }
  /** The log was set up with other resources than this process knows: it must not number. */
  | { readonly kind: 'rules-differ' }
  /** Pulses were numbered up to `head`; `more` when the next step need not wait. */
  | {
      readonly kind: 'numbered';
      readonly pulses: number;
      readonly changes: number;
      readonly head: EntityEventSequence | undefined;
      readonly more: boolean;
      /** Numbers were lost since the last step, and this one opened a new epoch. */
      readonly opened?: OpenedEpoch;
    };

/** What a sequencer works with. */
export interface SequencerOptions {
  readonly db: Db;
  /**
   * The sources under the rules that are current in the database; asked for whenever the version in the head is not
   * the one in hand (RULESET). Undefined when this process was started with other resources than the log holds.
   */
  readonly loadSources: () => Promise<SourceSet | undefined>;
  readonly numbering: Numbering;
  /** Changes in one step; what is larger is worked off over several steps of about this size. */
  readonly batchSize: number;
  /** What its process has seen of the log; one of its own unless given. */
  readonly memory?: HeadMemory;
}

/**
 * A step that hangs is shed by the server: a stopped process idles inside its transaction and loses its session
 * after 5 s, a statement is cancelled after 30 s. A step takes milliseconds.
 */
const stepLimits = { statementTimeoutMs: 30_000, idleTimeoutMs: 5_000 };

/**
 * Gives pulses their numbers. One step is one short READ COMMITTED transaction that holds the head's row lock, so
 * any number of sequencers may run at once: all but one find the lock taken and stand by (FENCE).
 *
 * States: closed -> open (a session with its temporary tables) -> closed again after any failure; the next step
 * opens anew. A failed step leaves nothing behind: its changes are still in the outbox.
 */
export class Sequencer {
  readonly #options: SequencerOptions;
  readonly #memory: HeadMemory;
  #session: Session | undefined;
  /** Which server the session is on. */
  #server = unknownServer;
  #rules: SourceSet | undefined;
  /**
   * No change below this transaction id can still appear: all of them had ended when everything visible was taken.
   * Reading from here on skips the dead entries that a long-running transaction keeps in the index.
   */
  #horizon = '0';
  #steps = 0;
  /** The last seed entry taken: all up to it are gone. */
  #seedPosition = 0n;
  #seedsMayBeStored = false;

  constructor(options: SequencerOptions) {
    this.#options = options;
    this.#memory = options.memory ?? createHeadMemory();
  }

  /** Runs one step. @throws what the database reports; the session is then closed. */
  async step(): Promise<StepOutcome> {
    return this.#run((tx, head) =>
      head.batch_stage === null ? this.#ordinaryStep(tx, head) : this.#largeStep(tx, head),
    );
  }

  /**
   * Numbers the next records that a seeding run lined up, by their position alone: `changes` are the entries taken,
   * `pulses` the numbers given. `idle` when none is left, `standby` while a large batch is open, which `step` works on.
   */
  async seedStep(limit: number): Promise<StepOutcome> {
    return this.#run(async (tx, head) => {
      if (head.batch_stage !== null) return { kind: 'standby' };
      const after = this.#seedPosition;
      const part = await tx.query<SeedPartRow>(nextSeedPart(limit, after));
      const last = part[0]?.last;
      if (last === undefined) return { kind: 'idle' };
      const changes = part.reduce((sum, { entries }) => sum + entries, 0);
      if (changes > smallSeedPart) await tx.script(widenSeedStep);
      this.#seedPosition = last;
      const found = await this.#trySeeds(tx, this.#withSources(part), { after, last });
      if (found === 'too many') return working(changes);
      return this.#number(tx, stepTables, head, { changes, more: true, seedsOnly: found === 'seeds only' });
    });
  }

  async close(): Promise<void> {
    const session = this.#session;
    this.#session = undefined;
    await session?.close();
  }

  async #run(work: (tx: Queryable, head: HeadRow) => Promise<StepOutcome>): Promise<StepOutcome> {
    try {
      this.#session ??= await this.#openSession();
      for (;;) {
        const outcome = await this.#session.transaction(tx => this.#underLock(tx, work), stepLimits);
        if (outcome !== 'rules-stale') {
          if (outcome.kind === 'numbered' && outcome.head !== undefined) this.#memory.note(outcome.head);
          return outcome;
        }
        this.#rules = await this.#options.loadSources();
        if (this.#rules === undefined) return { kind: 'rules-differ' };
      }
    } catch (error) {
      this.#horizon = '0';
      this.#seedPosition = 0n;
      // The next session may meet a database that was restored meanwhile: there a version may stand for other rules.
      this.#rules = undefined;
      await this.close().catch((closeError: unknown) => {
        throw new AggregateError([error, closeError], 'A step failed, and closing its session too.');
      });
      throw error;
    }
  }

  /** The version is compared under the lock: rules cannot change between here and the commit. */
  async #underLock(
    tx: Queryable,
    work: (tx: Queryable, head: HeadRow) => Promise<StepOutcome>,
  ): Promise<StepOutcome | 'rules-stale'> {
    const [head] = await tx.query<HeadRow>(lockHead);
    if (head === undefined) return { kind: 'standby' };
    const seen = { head: this.#memory.highest, epoch: 0 };
    const reason = lossOf(head, this.#server, seen);
    if (reason !== undefined) {
      this.#rules = undefined;
      const { numbering } = this.#options;
      const opened = await openEpoch(tx, head, { reason, server: this.#server, seen, numbering });
      return { ...working(0), head: asSequence(opened.lostTo + 1n), opened };
    }
    this.#memory.note(head.last_seq);
    if (head.rule_version !== this.#rules?.version) return 'rules-stale';
    const { systemId } = this.#server;
    if (head.system_id === null && systemId !== undefined) await tx.query(keepServer(this.#server));
    return work(tx, head);
  }

  async #openSession(): Promise<Session> {
    const session = await this.#options.db.session();
    await session.transaction(tx => tx.script(createStepTables));
    // Once a session: a server that fails over does not take its sessions along.
    this.#server = await readServerIdentity(session);
    return session;
  }

  async #ordinaryStep(tx: Queryable, head: HeadRow): Promise<StepOutcome> {
    if (this.#sources.some(source => source.live !== undefined && source.live.dueAt !== noDueAt)) {
      await tx.query(queueDue(this.#options.batchSize, this.#horizon));
    }
    const [took] = await tx.query<TakenRow>(takeTransactions(this.#options.batchSize, this.#horizon));
    if (took === undefined) throw new PulsefeedError('EE-900', 'Taking changes returned no row.');
    this.#steps += 1;
    // A row whose transaction id somebody wrote by hand, as a replicated outbox has it, is met by a scan from the start.
    if (took.over === null) this.#horizon = this.#steps % stepsBetweenSweeps === 0 ? '0' : took.horizon;
    if (took.taken === 0) {
      if (took.over === null) return { kind: 'idle' };
      // The oldest transaction alone is larger than a step.
      await tx.query(setStage('taking', took.over));
      return working(0);
    }
    if (took.truncated) {
      await tx.script(keepStep);
      await tx.query(setStage('expanding', null));
      return working(took.taken);
    }
    const whole = await this.#evaluateStep(tx);
    return whole
      ? this.#number(tx, stepTables, head, { changes: took.taken, more: took.over !== null })
      : working(took.taken);
  }

  /** One bounded part of a large batch; the stage is kept in the head's row, so any process goes on from it. */
  async #largeStep(tx: Queryable, head: HeadRow): Promise<StepOutcome> {
    const part = this.#partSize;
    switch (head.batch_stage) {
      case 'taking': {
        const [row] = await tx.query<{ taken: number }>(takePart(part, head.batch_xid ?? '0'));
        if ((row?.taken ?? 0) < part) await tx.query(setStage('expanding', null));
        return working(row?.taken ?? 0);
      }
      case 'expanding': {
        const [row] = await tx.query<{ found: number }>(expandTruncate(part));
        if ((row?.found ?? 0) === 0) await tx.query(setStage('evaluating', null));
        return working(0);
      }
      case 'evaluating':
        return this.#evaluatePart(tx);
      case 'numbering': {
        const outcome = await this.#number(tx, largeTables, head, { changes: 0, more: true });
        if (outcome.kind === 'numbered' && outcome.pulses < part) await tx.query(setStage(null, null));
        return outcome;
      }
      case null:
        throw new PulsefeedError('EE-900', 'No large batch is open.');
      default: {
        const never: never = head.batch_stage;
        return never;
      }
    }
  }

  /**
   * Looks at all keys of a step, parents first, so that each record is looked at once and after its parents. False
   * when the children of flipped parents are more than a step may take: the rest has then become the large batch.
   */
  async #evaluateStep(tx: Queryable): Promise<boolean> {
    let waiting = await this.#waitingSources(tx, stepTables);
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      const flips = await this.#evaluate(tx, next, stepTables);
      if (next.source.selfParentSlot !== undefined) await tx.query(setDepths(next.id, stepTables));
      if (flips === 0) continue;
      if (!(await this.#followFlips(tx, next.source))) return false;
      waiting = await this.#waitingSources(tx, stepTables);
    }
    return true;
  }

  /**
   * Goes by the hope that nothing of the part was numbered since it was lined up, which holds unless somebody writes
   * and numbers beside the seeding run; once it did not, each record is looked up before.
   */
  async #trySeeds(
    tx: Queryable,
    part: readonly Waiting[],
    range: Omit<SeedRange, 'mayBeStored'>,
  ): Promise<SeedsFound> {
    if (!this.#seedsMayBeStored) {
      await tx.script('savepoint seeds');
      try {
        const found = await this.#evaluateSeeds(tx, part, { ...range, mayBeStored: false });
        // Else the head would be written by a subtransaction, whose id is not the one that its row names.
        await tx.script('release savepoint seeds');
        return found;
      } catch (error) {
        if (sqlState(error) !== uniqueViolation) throw error;
        await tx.script('rollback to savepoint seeds; release savepoint seeds');
        this.#seedsMayBeStored = true;
      }
    }
    return this.#evaluateSeeds(tx, part, { ...range, mayBeStored: true });
  }

  /**
   * Looks at a part of a seeding run, and then at children that were numbered before their parent: hidden until now,
   * they follow behind all of the part.
   */
  async #evaluateSeeds(tx: Queryable, part: readonly Waiting[], seeding: SeedRange): Promise<SeedsFound> {
    const flipped: RecordSource[] = [];
    for (const next of part) {
      if ((await this.#evaluate(tx, next, stepTables, seeding)) > 0) flipped.push(next.source);
    }
    if (flipped.length === 0) return 'seeds only';
    for (const source of flipped) {
      if (!(await this.#followFlips(tx, source))) return 'too many';
    }
    return (await this.#evaluateStep(tx)) ? 'with children' : 'too many';
  }

  /** Finds the children of flipped records; false when they are more than a step may take. */
  async #followFlips(tx: Queryable, parent: RecordSource): Promise<boolean> {
    for (const follower of this.#followersOf(parent)) {
      if ((await this.#expandFlips(tx, follower, stepTables)) < this.#partSize) continue;
      await tx.script(keepStep);
      await tx.query(setStage('evaluating', null));
      return false;
    }
    return true;
  }

  /** The same for a large batch, one part a step: children of flips before keys, and keys parents first. */
  async #evaluatePart(tx: Queryable): Promise<StepOutcome> {
    for (const follower of this.#sources.flatMap(source => this.#followersOf(source))) {
      if ((await this.#expandFlips(tx, follower, largeTables)) > 0) return working(0);
    }
    const [next] = await this.#waitingSources(tx, largeTables);
    if (next !== undefined) {
      await this.#evaluate(tx, next, largeTables);
      return working(0);
    }
    for (const { id, source } of await this.#knownSources(tx)) {
      if (source.selfParentSlot !== undefined) await tx.query(setDepths(id, largeTables));
    }
    await tx.query(setStage('numbering', null));
    return working(0);
  }

  async #evaluate(tx: Queryable, next: Waiting, tables: BatchTables, seeding?: SeedRange): Promise<number> {
    const [row] = await tx.query<{ flips: number }>(
      evaluate(next.source, next.id, {
        tables,
        limit: this.#partSize,
        ...(seeding === undefined ? {} : { seeding }),
        followers: this.#followersOf(next.source),
        unstated: next.source.unstated ?? this.#rules?.unstated ?? `'{}'::integer[]`,
      }),
    );
    return row?.flips ?? 0;
  }

  async #expandFlips(tx: Queryable, follower: Follower, tables: BatchTables): Promise<number> {
    const [row] = await tx.query<{ met: number }>(expandFlips(follower, tables, this.#partSize));
    return row?.met ?? 0;
  }

  get #partSize(): number {
    return Math.min(this.#options.batchSize, mostInPart);
  }

  get #sources(): readonly RecordSource[] {
    return this.#rules?.sources ?? [];
  }

  get #withHistory(): string[] {
    return this.#sources.filter(({ history }) => history === true).map(({ resource }) => resource);
  }

  #followersOf(parent: RecordSource): Follower[] {
    return this.#sources.flatMap(child =>
      child.follows
        .filter(({ resource }) => resource === parent.resource)
        .map(({ slot }) => ({ child: child.resource, slot })),
    );
  }

  /** Resources with keys to look at, parents first. */
  async #waitingSources(tx: Queryable, tables: BatchTables): Promise<Waiting[]> {
    const rows = await tx.query<{ id: number; name: string }>(resourcesInBatch(tables));
    return this.#withSources(rows);
  }

  async #knownSources(tx: Queryable): Promise<Waiting[]> {
    return this.#withSources(
      await tx.query<{ id: number; name: string }>({ text: 'select id, name from pulsefeed.resource' }),
    );
  }

  #withSources(rows: readonly { id: number; name: string }[]): Waiting[] {
    return rows
      .map(({ id, name }) => ({
        id,
        source: this.#sources.find(({ resource }) => resource === name) ?? unconfigured(name),
      }))
      .sort((a, b) => a.source.rank - b.source.rank || a.id - b.id);
  }

  async #number(
    tx: Queryable,
    tables: BatchTables,
    head: HeadRow,
    done: { changes: number; more: boolean; seedsOnly?: boolean },
  ): Promise<StepOutcome> {
    const first = this.#options.numbering(head.last_seq);
    const [row] = await tx
      .query<NumberedRow>(
        numberPulses(tables, first, this.#partSize, {
          seedsOnly: done.seedsOnly === true,
          history: done.seedsOnly === true ? [] : this.#withHistory,
        }),
      )
      .catch((error: unknown) => {
        throw sqlState(error) === outOfRange ? usedUp(error) : error;
      });
    return {
      kind: 'numbered',
      pulses: row?.pulses ?? 0,
      changes: done.changes,
      head: row?.head == null ? undefined : asSequence(row.head),
      more: done.more,
    };
  }
}

/**
 * Keys or pulses of a large batch in one step. Parts of 10,000 took up to 1.1 s on two busy cores, for which whoever
 * needs the head waits; smaller ones take as long together.
 */
const mostInPart = 5_000;

/** About a minute of idle polling. */
const stepsBetweenSweeps = 1_000;

/** SQLSTATE of a number beyond its type. */
const outOfRange = '22003';

const uniqueViolation = '23505';

/** What a part of a seeding run led to. */
type SeedsFound = 'seeds only' | 'with children' | 'too many';

/** Parts of a seeding run up to this size need no more memory than any step. */
const smallSeedPart = 1_000;

/** A resource with keys to look at. */
interface Waiting {
  readonly id: number;
  readonly source: RecordSource;
}

/** What `LiveTable.dueAt` is for a resource without a rule that reads the clock. */
export const noDueAt = 'null::timestamptz';

function working(changes: number) {
  return { kind: 'numbered', pulses: 0, changes, head: undefined, more: true } as const;
}
