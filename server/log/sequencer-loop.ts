import { isConnectionFailure } from '../base/errors.ts';
import type { Observe } from '../base/observe.ts';
import type { Sequencer, StepOutcome } from './sequencer.ts';

/** How long the loop waits; readers lag behind a commit by at most `busy` while changes keep coming. */
export interface Pace {
  /** After a step that numbered something. */
  readonly busyMs: number;
  /** The longest pause when nothing happens; reached by doubling. */
  readonly idleMs: number;
  /** When another session holds the head: how soon its death is noticed. */
  readonly standbyMs: number;
  /** After a failure; doubles up to `failureMostMs`. */
  readonly failureMs: number;
  readonly failureMostMs: number;
}

export const defaultPace: Pace = {
  busyMs: 5,
  idleMs: 50,
  standbyMs: 100,
  failureMs: 100,
  failureMostMs: 5_000,
};

/** What the loop last did, for readiness. */
export interface LoopState {
  readonly outcome: StepOutcome['kind'] | 'failing' | 'starting';
  /** Milliseconds of the injected clock. */
  readonly at: number;
}

/**
 * Steps the sequencer until it is stopped. States: idle -> running -> stopping -> stopped. `poke` ends the present
 * pause early: whoever appended in this process need not wait for the next poll.
 */
export class SequencerLoop {
  readonly #sequencer: Sequencer;
  readonly #observe: Observe;
  readonly #pace: Pace;
  readonly #now: () => number;
  #wake: (() => void) | undefined;
  #poked = false;
  #stopping = false;
  #done: Promise<void> | undefined;
  #state: LoopState;

  constructor(
    sequencer: Sequencer,
    observe: Observe,
    pace: Pace = defaultPace,
    now: () => number = Date.now,
  ) {
    this.#sequencer = sequencer;
    this.#observe = observe;
    this.#pace = pace;
    this.#now = now;
    this.#state = { outcome: 'starting', at: now() };
  }

  get state(): LoopState {
    return this.#state;
  }

  start(): void {
    this.#done ??= this.#run();
  }

  /** Ends the present pause. */
  poke(): void {
    this.#poked = true;
    this.#wake?.();
  }

  /** Resolves when the step in hand has ended and its session is closed. */
  async stop(): Promise<void> {
    this.#stopping = true;
    this.#wake?.();
    await this.#done;
    await this.#sequencer.close();
  }

  async #run(): Promise<void> {
    let idleMs = this.#pace.busyMs;
    let failureMs = this.#pace.failureMs;
    while (!this.#stopping) {
      let pauseMs: number;
      const startedAt = this.#now();
      try {
        const outcome = await this.#sequencer.step();
        failureMs = this.#pace.failureMs;
        if (outcome.kind !== this.#state.outcome && outcome.kind !== 'idle' && outcome.kind !== 'numbered') {
          this.#observe({ kind: 'SequencerWaits', reason: outcome.kind });
        }
        this.#state = { outcome: outcome.kind, at: this.#now() };
        if (outcome.kind === 'numbered') {
          if (outcome.opened !== undefined) this.#observe({ kind: 'EpochOpened', ...outcome.opened });
          this.#observe({
            kind: 'BatchNumbered',
            pulses: outcome.pulses,
            changes: outcome.changes,
            head: outcome.head,
            ms: this.#now() - startedAt,
          });
          idleMs = this.#pace.busyMs;
          pauseMs = outcome.more ? 0 : this.#pace.busyMs;
        } else if (outcome.kind === 'idle') {
          pauseMs = idleMs;
          idleMs = Math.min(idleMs * 2, this.#pace.idleMs);
        } else {
          pauseMs = this.#pace.standbyMs;
        }
      } catch (error) {
        this.#state = { outcome: 'failing', at: this.#now() };
        this.#observe({
          kind: 'SequencerFailed',
          error,
          transient: isConnectionFailure(error),
          retryMs: failureMs,
        });
        pauseMs = failureMs;
        failureMs = Math.min(failureMs * 2, this.#pace.failureMostMs);
      }
      if (pauseMs > 0) await this.#pause(pauseMs);
    }
  }

  #pause(ms: number): Promise<void> {
    if (this.#poked || this.#stopping) {
      this.#poked = false;
      return Promise.resolve();
    }
    return new Promise(resolve => {
      const finish = () => {
        clearTimeout(timer);
        this.#wake = undefined;
        this.#poked = false;
        resolve();
      };
      const timer = setTimeout(finish, ms);
      this.#wake = finish;
    });
  }
}
