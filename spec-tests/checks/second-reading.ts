import type { Context } from '../context.ts';
import { type FeedEvent, highest, recordId } from '../feed/event.ts';
import { readEvents, readWindow } from '../feed/read.ts';
import type { Walk } from '../feed/walk.ts';
import { stringLiteral } from '../http/address.ts';
import type { Exchange } from '../http/exchange.ts';
import { ascending, walkWithEvents } from './sampled-events.ts';

/** Three stretches of the log, as the walk met them and as they are served now. */
export type SecondReading = {
  walk: Walk;
  before: FeedEvent[];
  now: Map<bigint, FeedEvent>;
  exchanges: Exchange[];
};

const windowSize = 400;

/** Reads the beginning, a middle and the end of the walked log once more. */
export async function readAgain(context: Context): Promise<SecondReading> {
  const walk = await walkWithEvents(context);
  const all = ascending(walk);
  const middle = Math.max(0, Math.floor(all.length / 2) - windowSize / 2);
  const windows = [
    all.slice(0, windowSize),
    all.slice(Math.max(windowSize, middle), middle + windowSize),
    all.slice(Math.max(windowSize, middle + windowSize, all.length - windowSize)),
  ];
  const before: FeedEvent[] = [];
  const now = new Map<bigint, FeedEvent>();
  const exchanges: Exchange[] = [];
  for (const window of windows) {
    const first = window[0];
    const last = window.at(-1);
    if (first === undefined || last === undefined) continue;
    const again = await readWindow(context.http, first.sequence, last.sequence);
    before.push(...window);
    for (const event of again.events) now.set(event.sequence, event);
    for (const page of again.pages) exchanges.push(page.exchange);
  }
  return { walk, before, now, exchanges };
}

/** Looks for an event of the same record with a higher number, in the walk and then at the server. */
export async function laterEvent(
  context: Context,
  walk: Walk,
  event: FeedEvent,
): Promise<{ found: boolean; exchanges: Exchange[] }> {
  const filter = [
    `ResourceName eq ${stringLiteral(event.resource)}`,
    `ResourceRecordKey eq ${stringLiteral(event.key)}`,
    `EntityEventSequence gt ${event.sequence}`,
  ].join(' and ');
  const page = await readEvents(context.http, { $filter: filter });
  if (page.events.some(each => recordId(each) === recordId(event) && each.sequence > event.sequence)) {
    return { found: true, exchanges: [page.exchange] };
  }
  // The filter on two strings may itself be broken; the end of the log is read plainly as well.
  const reached = highest(walk.events) ?? 0n;
  const tail = await readEvents(context.http, { $filter: `EntityEventSequence gt ${reached}` });
  return { found: tail.events.some(each => recordId(each) === recordId(event)), exchanges: [page.exchange] };
}
