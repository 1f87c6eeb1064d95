/**
 * Everything that Pulsefeed tells about itself, as one closed union. Modules call `observe`; which log level and
 * which metric an observation becomes is decided in server/base/report.ts alone. No secret enters one.
 */
export type Observation =
  | {
      readonly kind: 'BatchNumbered';
      readonly pulses: number;
      readonly changes: number;
      readonly head: bigint | undefined;
      readonly ms: number;
    }
  | {
      /** Numbers were lost, by a restore or failover; `(lostAfter, lostTo]` is the gap. */
      readonly kind: 'EpochOpened';
      readonly epoch: number;
      readonly reason: string;
      readonly lostAfter: bigint;
      readonly lostTo: bigint;
    }
  | { readonly kind: 'SequencerWaits'; readonly reason: 'standby' | 'rules-differ' }
  | {
      readonly kind: 'SequencerFailed';
      readonly error: unknown;
      readonly transient: boolean;
      readonly retryMs: number;
    }
  | {
      readonly kind: 'RequestServed';
      readonly requestId: string;
      readonly method: string;
      /** The path without its query, since a query may hold what a consumer filters by. */
      readonly path: string;
      readonly route: string;
      readonly status: number;
      readonly ms: number;
      readonly rows: number | undefined;
      readonly errorCode: string | undefined;
    }
  | {
      readonly kind: 'Compacted';
      readonly examined: number;
      readonly dropped: number;
      readonly narrowed: number;
      readonly upTo: bigint;
      readonly ms: number;
    }
  | {
      /** Pulses of deleted and hidden records that were older than the setting `tombstones`. */
      readonly kind: 'TombstonesDropped';
      readonly examined: number;
      readonly dropped: number;
      readonly upTo: bigint;
    }
  | {
      /** A part of the log was moved to the archive; `kept` of its pulses are in the segment. */
      readonly kind: 'Archived';
      readonly examined: number;
      readonly kept: number;
      readonly upTo: bigint;
      readonly bytes: number;
    }
  | { readonly kind: 'ArchivingFailed'; readonly error: unknown; readonly retryMs: number }
  | { readonly kind: 'CompactionFailed'; readonly error: unknown; readonly retryMs: number }
  | { readonly kind: 'WalkFinished'; readonly walk: string; readonly consumer: string | undefined }
  | { readonly kind: 'WalkFailed'; readonly error: unknown; readonly retryMs: number }
  | { readonly kind: 'RequestFailed'; readonly requestId: string; readonly error: unknown }
  | {
      readonly kind: 'Ingested';
      readonly source: string;
      readonly accepted: number;
      readonly duplicates: number;
    }
  | {
      readonly kind: 'PushAttempted';
      readonly subscription: string;
      readonly worker: string;
      /** `fenced`: the lease was over, what came of it was not written. */
      readonly outcome: string;
      readonly status: number | undefined;
      readonly webhookId: string;
      readonly attempt: number;
      readonly events: number;
      readonly bytes: number;
      readonly upTo: bigint;
      readonly ms: number;
    }
  | {
      readonly kind: 'PushStopped';
      readonly subscription: string;
      readonly state: string;
      readonly reason: string;
    }
  | {
      readonly kind: 'PushSampled';
      readonly byState: Readonly<Record<string, number>>;
      readonly byBreaker: Readonly<Record<string, number>>;
      readonly lagEvents: { readonly most: number; readonly sum: number };
      readonly lagSeconds: number;
      readonly deadLetters: number;
    }
  | { readonly kind: 'PushFailed'; readonly error: unknown; readonly retryMs: number }
  | { readonly kind: 'ServerStarted'; readonly url: string; readonly engine: string }
  | { readonly kind: 'ServerStopping'; readonly signal: string }
  | { readonly kind: 'ServerStopped' }
  | { readonly kind: 'Notice'; readonly message: string };

/** Takes an observation. Never throws and never waits. */
export type Observe = (observation: Observation) => void;

/** Takes observations and does nothing with them. */
export const unobserved: Observe = () => undefined;
