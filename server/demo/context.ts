import type { Config } from '../base/config/index.ts';
import type { Db } from '../base/db/index.ts';
import type { Runtime } from '../runtime.ts';
import type { EditTiming } from './live-edits.ts';

/** How far a long piece of work is. */
export interface DemoProgress {
  /** What is being done, where it has parts. */
  readonly phase?: string;
  readonly done: number;
  readonly total: number;
}

/** Where progress is shown. */
export interface DemoStream {
  readonly isTTY?: boolean;
  write(text: string): unknown;
}

/** Everything the demo needs that is not the sample itself. */
export interface DemoContext {
  readonly loadConfig: (flags: Readonly<Record<string, unknown>>) => Promise<Config>;
  readonly openDatabase: (config: Config, applicationName: string) => Promise<Db>;
  readonly openRuntime: (config: Config, db: Db) => Promise<Runtime>;
  readonly migrateAndPublish: (config: Config, db: Db) => Promise<unknown>;
  /** Puts capture on the sample's tables. @throws when it cannot. */
  readonly installCapture: (runtime: Runtime) => Promise<unknown>;
  /** Gives every record without an event its first one; ends early when the signal aborts. */
  readonly seed: (
    runtime: Runtime,
    onProgress: (progress: DemoProgress) => void,
    signal: AbortSignal,
  ) => Promise<unknown>;
  /** Serves and numbers until stopped. @throws when the port cannot be had. */
  readonly serve: (
    runtime: Runtime,
    options: { readonly port: number },
  ) => Promise<{ readonly url: string; stop(): Promise<void> }>;
  /** Standard output. */
  readonly out: (text: string) => void;
  /** Resolves when the user wants to stop; asked once, at the start. */
  readonly signals: () => Promise<unknown>;
  /** Standard error when absent. */
  readonly errorStream?: DemoStream;
  /** The clock of the process when absent. */
  readonly timing?: EditTiming;
}

/** What the user chose. */
export interface DemoOptions {
  /** Flags as `loadConfig` takes them: `port`, `dataDir`. */
  readonly flags: Readonly<Record<string, unknown>>;
  /** Whether records are edited while it runs. */
  readonly edits: boolean;
  /** How many listings a new sample gets; 2,000 when absent. */
  readonly listings?: number;
}
