import type { Db, Queryable, Session } from '../base/db/index.ts';
import { PulsefeedError, sqlState } from '../base/errors.ts';
import {
  type BatchTables,
  createStepTables,
  evaluate,
  expandTruncate,
  type HeadRow,
  keepStep,
  largeTables,
  lockHead,
  type NumberedRow,
  numberPulses,
  prepareSeedChunk,
  resourcesInBatch,
  setDepths,
  setStage,
  stepTables,
  type TakenRow,
  type TakenSeedRow,
  takePart,
  takeSeedEntries,
  takeTransactions,
} from './batch-sql.ts';
import { type Numbering, usedUp } from './numbering.ts';
import { type RecordSource, unconfigured } from './record-source.ts';
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
    };

/** What a sequencer works with. */
export interface SequencerOptions {
  readonly db: Db;
  readonly sources: readonly RecordSource[];
  /** Digest of the rules this process was started with; numbering stops while the log's differs. */
  readonly digest: string;
  readonly numbering: Numbering;
  /** Changes in one step; larger transactions are worked off over several steps of about this size. */
  readonly batchSize: number;
}

/**
 * A step that hangs is shed by the server: a stopped process idles inside its transaction and loses its session
 * after 5 s, a statement is cancelled after 30 s. A step takes milliseconds.
 */
const stepLimits = { statementTimeoutMs: 30_000, idleTimeoutMs: 5_000 };

/** Up to here, probing the live rows one by one costs less than finding out whether it does. */
const smallSeedChunk = 1_000;

const numericValueOutOfRange = '22003';

/**
 * Gives pulses their numbers. One step is one short READ COMMITTED transaction that holds the head's row lock, so
 * any number of sequencers may run at once: all but one find the lock taken and stand by (FENCE).
 *
 * States: closed -> open (a session with its temporary tables) -> closed again after any failure; the next step
 * opens anew. A failed step leaves nothing behind: its changes are still in the outbox.
 */
export class Sequencer {
  readonly #options: SequencerOptions;
  readonly #sources: Map<string, RecordSource>;
  #session: Session | undefined;
  /**
   * No change below this transaction id can still appear: all of them had ended when everything visible was taken.
   * Reading from here on skips the dead entries that a long-running transaction keeps in the index.
   */
  #horizon = '0';
  /** The last seed entry taken; all entries up to it are gone. */
  #seedPosition = 0n;

  constructor(options: SequencerOptions) {
    this.#options = options;
    this.#sources = new Map(options.sources.map(source => [source.resource, source]));
  }

  /** Runs one step. @throws what the database reports; the session is then closed. */
  async step(): Promise<StepOutcome> {
    return this.#run(async tx => {
      const head = await this.#lock(tx);
      if (typeof head === 'string') return { kind: head };
      return head.batch_stage === null ? this.#ordinaryStep(tx, head) : this.#largeStep(tx, head);
    });
  }

  /**
   * Numbers the next records that a seeding run lined up, by their position alone; `changes` counts the entries
   * taken, `pulses` those that got a number. `idle` when none is left; `standby` while a large batch is open, which
   * `step` works on.
   */
  async seedStep(limit: number): Promise<StepOutcome> {
    return this.#run(async tx => {
      const head = await this.#lock(tx);
      if (typeof head === 'string') return { kind: head };
      if (head.batch_stage !== null) return { kind: 'standby' };
      let [row] = await tx.query<TakenSeedRow>(takeSeedEntries(limit, this.#seedPosition));
      if (row?.last === null && this.#seedPosition > 0n) {
        [row] = await tx.query<TakenSeedRow>(takeSeedEntries(limit, 0n));
      }
      if (row === undefined || row.last === null) return { kind: 'idle' };
      this.#seedPosition = row.last;
      if (row.taken > smallSeedChunk) await tx.script(prepareSeedChunk);
      await this.#evaluateAll(tx, stepTables, true);
      return this.#number(tx, stepTables, head, { changes: row.taken, more: true });
    });
  }

  async close(): Promise<void> {
    const session = this.#session;
    this.#session = undefined;
    await session?.close();
  }

  async #run(work: (tx: Queryable) => Promise<StepOutcome>): Promise<StepOutcome> {
    try {
      this.#session ??= await this.#openSession();
      return await this.#session.transaction(work, stepLimits);
    } catch (error) {
      this.#horizon = '0';
      this.#seedPosition = 0n;
      await this.close().catch((closeError: unknown) => {
        throw new AggregateError([error, closeError], 'A step failed, and closing its session too.');
      });
      throw error;
    }
  }

  async #openSession(): Promise<Session> {
    const session = await this.#options.db.session();
    await session.transaction(tx => tx.script(createStepTables));
    return session;
  }

  async #lock(tx: Queryable): Promise<HeadRow | 'standby' | 'rules-differ'> {
    const [head] = await tx.query<HeadRow>(lockHead);
    if (head === undefined) return 'standby';
    return head.digest === this.#options.digest ? head : 'rules-differ';
  }

  async #ordinaryStep(tx: Queryable, head: HeadRow): Promise<StepOutcome> {
    const [took] = await tx.query<TakenRow>(takeTransactions(this.#options.batchSize, this.#horizon));
    if (took === undefined) throw new PulsefeedError('EE-900', 'Taking changes returned no row.');
    if (took.over === null) this.#horizon = took.horizon;
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
    await this.#evaluateAll(tx, stepTables);
    return this.#number(tx, stepTables, head, { changes: took.taken, more: took.over !== null });
  }

  /** One bounded part of a large batch; the stage is kept in the head's row, so any process goes on from it. */
  async #largeStep(tx: Queryable, head: HeadRow): Promise<StepOutcome> {
    const { batchSize } = this.#options;
    switch (head.batch_stage) {
      case 'taking': {
        const [row] = await tx.query<{ taken: number }>(takePart(batchSize, head.batch_xid ?? '0'));
        if ((row?.taken ?? 0) < batchSize) await tx.query(setStage('expanding', null));
        return working(row?.taken ?? 0);
      }
      case 'expanding': {
        const [row] = await tx.query<{ found: number }>(expandTruncate(batchSize));
        if ((row?.found ?? 0) === 0) await tx.query(setStage('evaluating', null));
        return working(0);
      }
      case 'evaluating': {
        const next = (await this.#waitingSources(tx, largeTables))[0];
        if (next !== undefined) {
          await tx.query(evaluate(next.source, next.id, largeTables, batchSize));
          return working(0);
        }
        await this.#setDepths(tx, largeTables);
        await tx.query(setStage('numbering', null));
        return working(0);
      }
      case 'numbering': {
        const outcome = await this.#number(tx, largeTables, head, { changes: 0, more: true });
        if (outcome.kind === 'numbered' && outcome.pulses < batchSize) await tx.query(setStage(null, null));
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

  async #evaluateAll(tx: Queryable, tables: BatchTables, seeding = false): Promise<void> {
    for (const { source, id } of await this.#waitingSources(tx, tables)) {
      await tx.query(evaluate(source, id, tables, this.#options.batchSize, seeding));
      if (!seeding && source.selfParentSlot !== undefined) await tx.query(setDepths(id, tables));
    }
  }

  async #setDepths(tx: Queryable, tables: BatchTables): Promise<void> {
    const known = await tx.query<{ id: number; name: string }>({
      text: 'select id, name from pulsefeed.resource',
    });
    for (const { id, name } of known) {
      if (this.#sources.get(name)?.selfParentSlot !== undefined) await tx.query(setDepths(id, tables));
    }
  }

  /** Resources with keys to look at, parents first. */
  async #waitingSources(tx: Queryable, tables: BatchTables): Promise<{ source: RecordSource; id: number }[]> {
    const rows = await tx.query<{ id: number; name: string }>(resourcesInBatch(tables));
    return rows
      .map(({ id, name }) => ({ id, source: this.#sources.get(name) ?? unconfigured(name) }))
      .sort((a, b) => a.source.rank - b.source.rank || a.id - b.id);
  }

  async #number(
    tx: Queryable,
    tables: BatchTables,
    head: HeadRow,
    done: { changes: number; more: boolean },
  ): Promise<StepOutcome> {
    const first = this.#options.numbering(head.last_seq);
    const [row] = await tx
      .query<NumberedRow>(numberPulses(tables, first, this.#options.batchSize))
      .catch((error: unknown): never => {
        throw sqlState(error) === numericValueOutOfRange ? usedUp(error) : error;
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

function working(changes: number): StepOutcome {
  return { kind: 'numbered', pulses: 0, changes, head: undefined, more: true };
}
