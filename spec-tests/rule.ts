import type { Context } from './context.ts';
import type { Exchange } from './http/exchange.ts';

/** How strongly the standard demands what a rule checks. A broken MUST makes a server not conformant; the others warn. */
export type Level = 'MUST' | 'SHOULD' | 'MAY';

/**
 * What a run may do. `observe` only reads. `full` reads, and writes canary records of its own. `stress` writes
 * canaries from several writers at once. `push` opens a receiver and subscribes it.
 */
export type Mode = 'observe' | 'full' | 'stress' | 'push';

/** Every mode, in the order in which the documentation tells of them. */
export const modes: readonly Mode[] = ['observe', 'full', 'stress', 'push'];

/** What became of a rule. `skip` means that it could not be exercised, which is never counted as a pass. */
export type Outcome = 'pass' | 'fail' | 'warn' | 'skip';

/** A rule's verdict: why, on what evidence and, when something was wrong, what to do about it. */
export type Verdict = {
  outcome: Outcome;
  /** One sentence: what was seen, or why nothing could be seen. */
  reason: string;
  /** What the maintainer of the server can do; only with `fail` and `warn`. */
  remedy?: string;
  /** The requests that the verdict rests on, oldest first. */
  exchanges: Exchange[];
};

/** One testable statement of a standard. */
export type Rule = {
  /** `<area>/<name>`, which is also its path under `rules/`. */
  id: string;
  /** The clauses of the matrix that this rule exercises. */
  covers: readonly string[];
  /** The clause in our own words. */
  clause: string;
  level: Level;
  modes: readonly Mode[];
  /** What is sent, in words. */
  sends: string;
  /** What is expected back, in words. */
  expects: string;
  /** Exercises the rule. @throws Violation or Unexercised, which the runner turns into verdicts. */
  check(context: Context): Promise<Verdict>;
};

/** Thrown where an answer already settles that the rule is broken. */
export class Violation extends Error {
  readonly remedy: string;
  readonly exchanges: Exchange[];

  constructor(reason: string, remedy: string, exchanges: Exchange[]) {
    super(reason);
    this.remedy = remedy;
    this.exchanges = exchanges;
  }
}

/** Thrown where a rule finds that it cannot be exercised on this server. */
export class Unexercised extends Error {
  readonly exchanges: Exchange[];

  constructor(reason: string, exchanges: Exchange[] = []) {
    super(reason);
    this.exchanges = exchanges;
  }
}

/** The rule was exercised and holds. */
export function pass(reason: string, exchanges: Exchange[] = []): Verdict {
  return { outcome: 'pass', reason, exchanges };
}

/** The rule was exercised and is broken; the runner lowers it to `warn` below MUST. */
export function fail(reason: string, remedy: string, exchanges: Exchange[] = []): Verdict {
  return { outcome: 'fail', reason, remedy, exchanges };
}

/** Something odd that the standard leaves open. */
export function warn(reason: string, remedy: string, exchanges: Exchange[] = []): Verdict {
  return { outcome: 'warn', reason, remedy, exchanges };
}

/** The rule could not be exercised. */
export function skip(reason: string, exchanges: Exchange[] = []): Verdict {
  return { outcome: 'skip', reason, exchanges };
}
