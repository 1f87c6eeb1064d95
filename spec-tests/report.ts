import type { Evidence } from './http/evidence.ts';
import type { Level, Mode, Outcome } from './rule.ts';

/** The version of the report's shape, which is `schema/conformance-report.schema.json`. */
export const reportVersion = 1;

/** What one rule found. */
export type RuleResult = {
  id: string;
  clause: string;
  covers: readonly string[];
  level: Level;
  sends: string;
  expects: string;
  outcome: Outcome;
  reason: string;
  remedy?: string;
  evidence: Evidence[];
  durationMs: number;
};

/** One request of the sequence walk, as the picture needs it. Numbers are decimal strings, since JSON readers round. */
export type WalkStep = {
  by: 'start' | 'nextLink' | 'seek';
  events: number;
  lowest?: string;
  highest?: string;
  /** Numbers that had been served before. */
  repeats: number;
  /** True when the step begins below what was reached. */
  backwards: boolean;
  /** The largest jump between two neighbouring numbers on this page. */
  largestGap: string;
};

/** The sequence walk in short. */
export type WalkReport = {
  events: number;
  complete: boolean;
  first?: string;
  last?: string;
  steps: WalkStep[];
  note?: string;
};

/** A finished run. `conformant` is `unknown` when nothing could be run. */
export type Report = {
  version: number;
  suite: string;
  url: string;
  mode: Mode;
  core: string;
  startedAt: string;
  durationMs: number;
  requests: number;
  throttled: number;
  conformant: 'yes' | 'no' | 'unknown';
  /** Why the run could not be made, or why it ended early. */
  problem?: string;
  counts: Record<Outcome, number>;
  rules: RuleResult[];
  walk?: WalkReport;
};

/** 0 conformant, 1 not conformant, 2 could not be run. */
export function exitCodeOf(report: Report): 0 | 1 | 2 {
  switch (report.conformant) {
    case 'yes':
      return 0;
    case 'no':
      return 1;
    case 'unknown':
      return 2;
    default: {
      const never: never = report.conformant;
      return never;
    }
  }
}
