import type { SeedPreview } from '../server/log/seed.ts';
import type { InputFault } from './input-fault.ts';
import type { SourceCount } from './table-records.ts';

/** What became of the records of one resource. */
export interface ResourceReport extends SourceCount {
  /** Records that had no event and were not lined up: in a dry run, those that would be seeded. */
  readonly fresh: number;
}

/** What a seeding run did, or would do. */
export interface SeedReport {
  readonly dryRun: boolean;
  /** In the order of seeding. */
  readonly resources: readonly ResourceReport[];
  /** Records that an earlier run had lined up and not numbered. */
  readonly resumed: number;
  /** Records that got their event. */
  readonly seeded: number;
  /** Lined up and given no event: numbered meanwhile, gone meanwhile, or visible to nobody. */
  readonly passedOver: number;
  /** False when the run was asked to stop; the next one goes on. */
  readonly finished: boolean;
  /** The last number of the log, as a text since it may be above 2^53. */
  readonly head: string;
  readonly seconds: number;
  /** In a dry run, the first records in their order. */
  readonly first: readonly SeedPreview[];
  /** Records of the file that could not be used. */
  readonly bad: { readonly count: number; readonly first: readonly InputFault[] };
  /** Rows written to the table that was loaded; those that it had already were left as they are. */
  readonly loaded?: { readonly table: string; readonly rows: number };
  /** What the operator should know. */
  readonly notes: readonly string[];
}

/** Where a run is. */
export interface SeedProgress {
  readonly phase: 'reading' | 'lining up' | 'numbering';
  /** Bytes of the file while reading, records while numbering. */
  readonly done: number;
  readonly total: number;
}

/** Told at every batch and step; must be quick. */
export type OnSeedProgress = (progress: SeedProgress) => void;
