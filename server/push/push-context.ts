import type { Db } from '../base/db/index.ts';
import type { Seal } from './seal.ts';
import type { Sender } from './sender.ts';
import type { TargetGuard } from './target-guard.ts';

/** What the resources and their actions work with. */
export interface PushContext {
  readonly db: Db;
  readonly seal: Seal;
  readonly guard: TargetGuard;
  readonly sender: Sender;
  readonly mostPerConsumer: number;
  readonly timeoutMs: number;
}
