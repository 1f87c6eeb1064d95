import { type Progress, ProgressMeter } from './progress.ts';
import { Replication } from './replication.ts';
import { ReplicationError } from './replication-error.ts';
import { type SourceOptions, withSource } from './source-session.ts';
import type { Store } from './store.ts';
import { REAL_TIMING } from './timing.ts';

/** What `replicate` is told. */
export interface ReplicateOptions extends SourceOptions {
  /** Where the copy goes. Opened here, closed by the caller. */
  readonly store: Store;
  /** Go on at the head until `signal` aborts. Failures of the source are then waited out. */
  readonly follow?: boolean | undefined;
  /** How long the source is asked to hold a request at the head (`Prefer: wait`); 30 seconds by default. */
  readonly waitSeconds?: number;
  /** Between questions at the head of a source that does not hold requests; 5 seconds by default, by chance half to one and a half of it. */
  readonly pollMs?: number;
  /** Pulses asked for in a page; 1,000 by default. */
  readonly pageSize?: number;
  /** Pulses read ahead of the fetching; 1,000 by default. */
  readonly readAhead?: number;
  /** Pulses fetched and stored in one transaction; what `concurrency` requests hold by default, at least 400. Memory grows with it times the size of a record. */
  readonly windowSize?: number;
  /** Walk again from the beginning over the existing copy, also one made under another URL of the source. */
  readonly reinitialise?: boolean;
  readonly onProgress?: (progress: Progress) => void;
}

/** How a replication ended: at the head, or because `signal` aborted. The copy is complete up to `progress.last` either way. */
export interface ReplicateResult {
  readonly ended: 'head' | 'aborted';
  readonly progress: Progress;
}

/**
 * Makes the store a copy of the source and keeps it one (RCP-027): walks EntityEvent from the cursor of the store, from `ge 0` in
 * a new one, fetches every record that is named and writes it or deletes it. May be stopped and killed anywhere and called again: each
 * change is applied at least once, and the copy ends equal to the source.
 * @throws ReplicationError; its code says why. The store then holds everything up to its cursor.
 */
export async function replicate(options: ReplicateOptions): Promise<ReplicateResult> {
  for (const name of ['waitSeconds', 'pageSize', 'readAhead', 'windowSize'] as const) {
    const value = options[name];
    if (value !== undefined && !(Number.isInteger(value) && value >= 1)) {
      throw new ReplicationError('usage', `${name} must be a whole number of at least 1.`);
    }
  }
  const { signal, timing = REAL_TIMING } = options;
  try {
    return await withSource(options, options.follow === true, (session, ending) =>
      new Replication(options, session, ending).run(),
    );
  } catch (error) {
    // Stopped before the store was opened.
    if (!signal?.aborted || error !== signal.reason) throw error;
    const progress = new ProgressMeter(() => timing.now()).read(undefined, undefined, false);
    return { ended: 'aborted', progress };
  }
}
