import type { ResourceTable } from '../../base/catalog/index.ts';
import type { Config } from '../../base/config/index.ts';
import type { Db } from '../../base/db/index.ts';

/** ok: as it should be. warn: works, with a consequence that the message names. fail: changes are or will be missed. */
export type Level = 'ok' | 'warn' | 'fail';

/** What one check found about one thing. */
export interface Finding {
  readonly check: string;
  /** The resource or object it is about; absent when about the whole. */
  readonly subject?: string;
  readonly level: Level;
  readonly message: string;
  /** What to do; present unless the level is ok. */
  readonly remedy?: string;
}

/** Where the checks draw their lines. */
export interface DoctorLimits {
  /** An open transaction older than this holds vacuum back noticeably. */
  readonly oldTransactionMs: number;
  /** Transactions by which a horizon may lag behind before it is told. */
  readonly oldHorizon: number;
  /** A difference of clocks that makes times in logs and margins misleading. */
  readonly clockSkewMs: number;
  /** How long a notification may take. */
  readonly notifyMs: number;
  /** How long the log is watched for a sign of progress. */
  readonly watchMs: number;
  /** Tables up to this many rows are compared in full without being asked. */
  readonly exactRows: number;
}

export const defaultLimits: DoctorLimits = {
  oldTransactionMs: 300_000,
  oldHorizon: 1_000_000,
  clockSkewMs: 2_000,
  notifyMs: 2_000,
  watchMs: 2_000,
  exactRows: 50_000,
};

/** What the checks work with once the database answers. */
export interface Patient {
  readonly config: Config;
  readonly db: Db;
  readonly limits: DoctorLimits;
  /** Milliseconds of this machine's clock. */
  readonly now: () => number;
  /** Compare everything exactly, however large. */
  readonly full: boolean;
}

/** What the checks of tables work with. */
export interface TablePatient extends Patient {
  readonly tables: readonly ResourceTable[];
}

export function ok(check: string, message: string, subject?: string): Finding {
  return { check, level: 'ok', message, ...(subject === undefined ? {} : { subject }) };
}

export function warn(check: string, message: string, remedy: string, subject?: string): Finding {
  return { check, level: 'warn', message, remedy, ...(subject === undefined ? {} : { subject }) };
}

export function fail(check: string, message: string, remedy: string, subject?: string): Finding {
  return { check, level: 'fail', message, remedy, ...(subject === undefined ? {} : { subject }) };
}

/** A span of time for people: 850 ms, 12 s, 3 min, 5 h, 2 d. */
export function span(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  const seconds = ms / 1_000;
  if (seconds < 100) return `${Math.round(seconds)} s`;
  if (seconds < 6_000) return `${Math.round(seconds / 60)} min`;
  if (seconds < 360_000) return `${Math.round(seconds / 3_600)} h`;
  return `${Math.round(seconds / 86_400)} d`;
}
