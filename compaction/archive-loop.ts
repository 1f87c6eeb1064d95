import type { Db, Queryable } from '../server/base/db/index.ts';
import type { Observe } from '../server/base/observe.ts';
import { type Archive, archiveStep, type MoveOutcome, type RetireLag } from '../server/log/index.ts';

/** Pulses of a part: a file of some hundred kilobytes, read and opened in a few dozen milliseconds. */
export const partRows = 50_000;

/**
 * Webhooks are sent from the table: nothing goes that an active one has still to be sent, and no pulse of a dead letter
 * that may be sent again. Undefined when none holds anything back.
 */
export async function heldForPush(db: Queryable): Promise<bigint | undefined> {
  const [row] = await db.query<{ held: bigint | null }>({
    text: `
select least(
  (select min(cursor_seq) from pulsefeed.push_subscription where state = 'active'),
  (select min(seq) - 1 from pulsefeed.push_dead_letter where state in ('dead', 'queued'))
) as held`,
  });
  return row?.held ?? undefined;
}

/** What the loop works with. */
export interface ArchiveLoopOptions {
  readonly db: Db;
  readonly archive: Archive;
  readonly window: RetireLag;
  readonly observe: Observe;
  /** Pulses of one part. */
  readonly rows?: number;
  /** Milliseconds between looks when nothing is old enough, and after a failure. */
  readonly idleMs?: number;
}

/**
 * Moves whole parts to the archive as they become old enough, until it is stopped. States: idle -> running -> stopping
 * -> stopped. Any number of processes may run one: each part is moved once.
 */
export class ArchiveLoop {
  readonly #options: ArchiveLoopOptions;
  #stopping = false;
  #wake: (() => void) | undefined;
  #done: Promise<void> | undefined;

  constructor(options: ArchiveLoopOptions) {
    this.#options = options;
  }

  start(): void {
    this.#done ??= this.#run();
  }

  /** Resolves when the step in hand has ended. */
  async stop(): Promise<void> {
    this.#stopping = true;
    this.#wake?.();
    await this.#done;
  }

  async #run(): Promise<void> {
    const { db, archive, window, observe, rows = partRows, idleMs = 60_000 } = this.#options;
    while (!this.#stopping) {
      const options = { window, rows, wholeParts: true, notAbove: heldForPush };
      const outcome = await archiveStep(db, archive, options).catch((error: unknown): MoveOutcome => {
        observe({ kind: 'ArchivingFailed', error, retryMs: idleMs });
        return { kind: 'idle' };
      });
      if (outcome.kind === 'archived') {
        const { examined, rows: kept, upTo, bytes } = outcome;
        observe({ kind: 'Archived', examined, kept, upTo, bytes });
      }
      await this.#rest(outcome.kind === 'archived' ? 0 : outcome.kind === 'standby' ? 1_000 : idleMs);
    }
  }

  #rest(ms: number): Promise<void> {
    if (this.#stopping || ms === 0) return Promise.resolve();
    return new Promise(resolve => {
      const finish = () => {
        clearTimeout(timer);
        this.#wake = undefined;
        resolve();
      };
      const timer = setTimeout(finish, ms);
      this.#wake = finish;
    });
  }
}
