import type { Observe } from '../base/observe.ts';
import { stepWalk, type WalkOptions } from './walks.ts';

const pauseMs = { idle: 1_000, paused: 50, failed: 5_000 };
const chunk = 2_000;

/**
 * Goes on with changes of rules and grants that are still walking, whoever began them. States: idle -> running ->
 * stopping -> stopped. Any number of processes may run one; a walk is locked by whoever steps it.
 */
export class WalkLoop {
  readonly #options: WalkOptions;
  readonly #observe: Observe;
  readonly #queued: () => void;
  #stopping = false;
  #wake: (() => void) | undefined;
  #done: Promise<void> | undefined;

  constructor(options: Omit<WalkOptions, 'chunk'>, observe: Observe, queued: () => void) {
    this.#options = { ...options, chunk };
    this.#observe = observe;
    this.#queued = queued;
  }

  start(): void {
    this.#done ??= this.#run();
  }

  async stop(): Promise<void> {
    this.#stopping = true;
    this.#wake?.();
    await this.#done;
  }

  async #run(): Promise<void> {
    while (!this.#stopping) await this.#pause(await this.#step());
  }

  /** Milliseconds to wait before the next step. */
  async #step(): Promise<number> {
    try {
      const step = await stepWalk(this.#options);
      if (step.kind === 'none') return pauseMs.idle;
      if (step.kind === 'paused') return pauseMs.paused;
      if (step.queued > 0) this.#queued();
      if (step.finished) {
        this.#observe({
          kind: 'WalkFinished',
          walk: step.walk.kind,
          consumer: step.walk.consumer ?? undefined,
        });
      }
      return 0;
    } catch (error) {
      this.#observe({ kind: 'WalkFailed', error, retryMs: pauseMs.failed });
      return pauseMs.failed;
    }
  }

  #pause(ms: number): Promise<void> {
    if (ms === 0 || this.#stopping) return Promise.resolve();
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
