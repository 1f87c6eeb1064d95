import { readFileSync } from 'node:fs';
import type { Settings } from '../base/config/index.ts';
import type { Db } from '../base/db/index.ts';
import { PulsefeedError } from '../base/errors.ts';
import type { Observe } from '../base/observe.ts';
import type { EntitySet } from '../edm/entity-set.ts';
import type { VisibilityPolicy } from '../visibility/index.ts';
import { TokenStore } from './oauth-token.ts';
import { pushSets } from './push-sets.ts';
import { recordReader } from './read-records.ts';
import { createSeal } from './seal.ts';
import { createSender } from './sender.ts';
import { createTargetGuard } from './target-guard.ts';
import { PushWorker, standardPace, type WorkerPace } from './worker.ts';

/** The settings that push reads. */
export type PushSettings = Pick<
  Settings,
  | 'secretKey'
  | 'pushAllow'
  | 'pushPorts'
  | 'pushProxy'
  | 'pushCaFile'
  | 'pushTimeoutMs'
  | 'pushSlots'
  | 'pushPerHost'
  | 'pushHostPerMinute'
  | 'pushSubscriptionsPerConsumer'
  | 'pushRetentionDays'
  | 'publicUrl'
>;

/** Push as one process has it: the resources, and workers. */
export interface Push {
  /** EntityEventSubscription and EntityEventCredential. */
  readonly sets: readonly EntitySet[];
  /** A worker that is yet to be started. @param records The entity sets that expanded records are read from. */
  worker(name: string, records: readonly EntitySet[], pace?: Partial<WorkerPace>): PushWorker;
  /** Ends kept connections; to be called when the workers have stopped. */
  close(): void;
}

/** Opens push. @returns undefined without PULSEFEED_SECRET_KEY: nothing can be sealed, so nothing is offered. @throws EE-700 */
export function openPush(
  parts: { readonly db: Db; readonly policy: VisibilityPolicy; readonly observe: Observe },
  settings: PushSettings,
): Push | undefined {
  if (settings.secretKey === undefined) return undefined;
  const seal = createSeal(settings.secretKey);
  const guard = createTargetGuard(settings.pushAllow, settings.pushPorts);
  const connectTimeoutMs = Math.min(settings.pushTimeoutMs, 10_000);
  const ca = settings.pushCaFile === undefined ? {} : { ca: readCa(settings.pushCaFile) };
  const proxy = settings.pushProxy === undefined ? {} : { proxy: new URL(settings.pushProxy) };
  const sender = createSender({ guard, connectTimeoutMs, ...ca, ...proxy }, settings.pushPerHost);
  const tokens = new TokenStore(sender, connectTimeoutMs, () => performance.now());
  const { db, policy, observe } = parts;
  return {
    sets: pushSets({
      db,
      seal,
      guard,
      sender,
      mostPerConsumer: settings.pushSubscriptionsPerConsumer,
      timeoutMs: settings.pushTimeoutMs,
    }),
    worker: (name, records, pace = {}) =>
      new PushWorker({
        db,
        policy,
        observe,
        name,
        seal,
        sender,
        tokens,
        readRecords: recordReader(records, settings.publicUrl ?? ''),
        timeoutMs: settings.pushTimeoutMs,
        now: () => Date.now(),
        monotonic: () => performance.now(),
        random: Math.random,
        limits: {
          slots: settings.pushSlots,
          perHost: settings.pushPerHost,
          hostPerMinute: settings.pushHostPerMinute,
        },
        pace: {
          ...standardPace,
          leaseMs: settings.pushTimeoutMs + connectTimeoutMs + 15_000,
          retentionDays: settings.pushRetentionDays,
          ...pace,
        },
      }),
    close: () => sender.close(),
  };
}

function readCa(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    throw new PulsefeedError('EE-700', `pushCaFile: ${path} cannot be read.`, { cause: error });
  }
}

export { registerPush } from './cli.ts';
export type { PushWorker } from './worker.ts';
