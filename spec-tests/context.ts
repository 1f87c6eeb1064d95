import type { CanaryRun } from './canary/canary-run.ts';
import type { Walk } from './feed/walk.ts';
import type { Agent } from './http/agent.ts';
import type { Clock } from './http/clock.ts';
import type { Exchange } from './http/exchange.ts';
import type { PushRun } from './push/push-run.ts';
import type { Service } from './service/metadata.ts';
import type { RecordSample } from './service/records.ts';
import type { Settings } from './settings.ts';
import type { StressRun } from './stress/stress-run.ts';

/**
 * What a rule may use. Everything that costs many requests is done once and shared: the walk of the log, the samples
 * of records, the canaries, the stress run, the deliveries. All of them throw Unexercised when they are not to be had.
 */
export type Context = {
  settings: Settings;
  http: Agent;
  clock: Clock;
  walk(): Promise<Walk>;
  service(): Promise<Service>;
  records(resource: string): Promise<RecordSample>;
  /** The samples of all record resources that can be read. */
  samples(): AsyncIterable<RecordSample>;
  canaries(): Promise<CanaryRun>;
  stress(): Promise<StressRun>;
  push(): Promise<PushRun>;
  /** The answer of the token endpoint, when client credentials are used. */
  tokenExchange(): Promise<Exchange | undefined>;
};
