import type { Context } from '../context.ts';
import type { FeedEvent } from '../feed/event.ts';
import type { Walk } from '../feed/walk.ts';
import type { Exchange } from '../http/exchange.ts';
import { Unexercised } from '../rule.ts';

/** The walk, when it met any event. @throws Unexercised for an empty log. */
export async function walkWithEvents(context: Context): Promise<Walk> {
  const walk = await context.walk();
  if (walk.events.length === 0) throw new Unexercised('the log is empty', firstExchange(walk));
  return walk;
}

/** The first request of the walk, as evidence. */
export function firstExchange(walk: Walk): Exchange[] {
  return walk.pages.slice(0, 1).map(page => page.exchange);
}

/** The distinct events of a walk in ascending order. */
export function ascending(walk: Walk): FeedEvent[] {
  const bySequence = new Map<bigint, FeedEvent>();
  for (const event of walk.events) if (!bySequence.has(event.sequence)) bySequence.set(event.sequence, event);
  return [...bySequence.values()].sort((a, b) => (a.sequence < b.sequence ? -1 : 1));
}

/** At most `count` items, spread evenly over the whole, first and last included. */
export function spread<T>(items: readonly T[], count: number): T[] {
  if (items.length <= count) return [...items];
  const chosen: T[] = [];
  for (let index = 0; index < count; index += 1) {
    const item = items[Math.round((index * (items.length - 1)) / Math.max(1, count - 1))];
    if (item !== undefined) chosen.push(item);
  }
  return chosen;
}

/** Up to three numbers in words, for a reason. */
export function listed(items: readonly (bigint | string)[]): string {
  const shown = items.slice(0, 3).join(', ');
  return items.length > 3 ? `${shown} and ${items.length - 3} more` : shown;
}
