import { CanaryWriter } from '../canary/canary-writer.ts';
import { Follower } from '../canary/follower.ts';
import { type FeedEvent, recordId } from '../feed/event.ts';
import { readWindow } from '../feed/read.ts';
import { headOf } from '../feed/walk.ts';
import type { Agent } from '../http/agent.ts';
import type { Clock } from '../http/clock.ts';
import type { Exchange } from '../http/exchange.ts';
import { Unexercised } from '../rule.ts';
import type { Service } from '../service/metadata.ts';
import type { Settings } from '../settings.ts';

/** A finished write, with the highest number that any reader had been served when it began. */
export type StressWrite = { resource: string; key: string; headBefore: bigint; write: Exchange };

/** What writers wrote, what each reader was served, and what the log holds afterwards. */
export type StressRun = {
  writes: StressWrite[];
  readers: { cursor: bigint; events: FeedEvent[] }[];
  /** The same stretch of the log, read once more when all was over. */
  afterwards: FeedEvent[];
  exchanges: Exchange[];
};

/**
 * Lets several writers create and update canaries while several readers follow the log, each at its own pace. Bounded
 * by the settings; all canaries are removed at the end.
 * @throws Unexercised when the server takes no writes.
 */
export async function runStress(
  http: Agent,
  clock: Clock,
  service: Service,
  settings: Settings,
  runId: string,
): Promise<StressRun> {
  const writer = new CanaryWriter(http, service, settings.canary, runId);
  const head = await headOf(http);
  if (head === undefined)
    throw new Unexercised('the head of the log cannot be read ($orderby and $top on EntityEvent)');
  const followers = Array.from(
    { length: settings.stress.readers },
    () => new Follower(http, clock, settings.canary, head),
  );
  const state = { writes: [] as StressWrite[], writing: true };
  try {
    const readers = followers.map((follower, index) => readOn(follower, clock, state, index));
    const writers = Array.from({ length: settings.stress.writers }, () =>
      write(writer, settings.stress.writesPerWriter, followers, state.writes),
    );
    await Promise.all(writers).finally(() => {
      state.writing = false;
    });
    await Promise.all(readers);
    await settle(followers, state.writes, clock, settings.canary);
    const last = highestCursor(followers);
    const { events, pages } = await readWindow(http, head + 1n, last, 100);
    return {
      writes: state.writes,
      readers: followers.map(({ cursor, events: seen }) => ({ cursor, events: seen })),
      afterwards: events,
      exchanges: pages.map(page => page.exchange).slice(0, 2),
    };
  } finally {
    await writer.removeAll();
  }
}

async function write(
  writer: CanaryWriter,
  count: number,
  followers: readonly Follower[],
  writes: StressWrite[],
): Promise<void> {
  for (let index = 0; index < count; index += 1) {
    const headBefore = highestCursor(followers);
    const canary = await writer.create();
    writes.push({ resource: canary.resource, key: canary.key, headBefore, write: canary.write });
    if (index % 3 !== 2) continue;
    const headBeforeUpdate = highestCursor(followers);
    const change = await writer.update(canary, `stress ${index}`);
    writes.push({
      resource: canary.resource,
      key: canary.key,
      headBefore: headBeforeUpdate,
      write: change.write,
    });
  }
}

function highestCursor(followers: readonly Follower[]): bigint {
  let high = 0n;
  for (const { cursor } of followers) if (cursor > high) high = cursor;
  return high;
}

/** Readers look at different intervals, so that their pages end at different numbers. */
async function readOn(
  follower: Follower,
  clock: Clock,
  state: { writing: boolean },
  index: number,
): Promise<void> {
  while (state.writing) {
    await follower.look();
    await clock.sleep(1 + index * 7);
  }
}

/** Goes on reading until every write has its event in every reader, or the time is up. */
async function settle(
  followers: readonly Follower[],
  writes: readonly StressWrite[],
  clock: Clock,
  limits: { waitMs: number; pollMs: number },
): Promise<void> {
  const untilMs = clock.now() + limits.waitMs;
  for (;;) {
    for (const follower of followers) await follower.look();
    const settled = followers.every(follower => unseen(writes, follower.events).length === 0);
    if (settled || clock.now() >= untilMs) return;
    await clock.sleep(limits.pollMs);
  }
}

/** The writes that no event above their `headBefore` speaks of. */
export function unseen(writes: readonly StressWrite[], events: readonly FeedEvent[]): StressWrite[] {
  const last = new Map<string, bigint>();
  for (const event of events) {
    const id = recordId(event);
    if (event.sequence > (last.get(id) ?? 0n)) last.set(id, event.sequence);
  }
  return writes.filter(each => (last.get(recordId(each)) ?? 0n) <= each.headBefore);
}
