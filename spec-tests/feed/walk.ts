import type { Agent } from '../http/agent.ts';
import { NoAnswer } from '../http/agent.ts';
import type { JsonObject } from '../http/exact-json.ts';
import type { Exchange } from '../http/exchange.ts';
import { readPage } from '../http/page.ts';
import { Unexercised, Violation } from '../rule.ts';
import { eventsOf, type FeedEvent, highest } from './event.ts';
import { readEvents } from './read.ts';

/** One answered request of the walk. */
export type WalkPage = {
  exchange: Exchange;
  /** How the walk came here: its first request, a nextLink, or `gt <last>` because no nextLink was given. */
  by: 'start' | 'nextLink' | 'seek';
  rows: JsonObject[];
  events: FeedEvent[];
  context?: string;
  nextLink?: string;
};

/** The log as one reader met it, shared by all rules that only look at what was served. */
export type Walk = {
  pages: WalkPage[];
  /** Every event in the order in which it was served, repeats included. */
  events: FeedEvent[];
  /** The highest number before the walk began, where the server could say. */
  headBefore?: bigint;
  /** True when the end of the log was reached; false when `maxEvents` or a fault ended the walk. */
  complete: boolean;
  /** The page after which events were still owed although it carried no nextLink. */
  cutShortAfter?: WalkPage;
  /** The page at which the nextLinks went round in a circle. */
  endlessAt?: WalkPage;
  /** What broke the walk off, for instance a page that was not JSON. */
  brokenBy?: { reason: string; exchanges: Exchange[] };
};

const pageSize = 1000;
const keptCharacters = 4000;
const maxEmptyPages = 5;

/**
 * Walks the log from its first event, following nextLink and stepping by `gt <last>` where one is missing, so that one
 * fault in paging leaves the other rules with a full sample. Stops after `maxEvents`.
 * @throws Violation when not even the first page can be read.
 */
export async function walkFeed(http: Agent, maxEvents: number): Promise<Walk> {
  const walk: Walk = { pages: [], events: [], complete: false };
  const head = await headOf(http);
  if (head !== undefined) walk.headBefore = head;
  const state = { seen: new Set<bigint>(), empty: 0 };
  const first = await readEvents(http, { $filter: 'EntityEventSequence gt 0' }, { maxPageSize: pageSize });
  addPage(walk, first, 'start', state.seen);
  try {
    while (walk.events.length < maxEvents && (await step(http, walk, state))) {
      // Each step reads one page.
    }
    const last = walk.pages.at(-1);
    // A log that ends just at the limit has been walked to its end.
    if (!walk.complete && last !== undefined && last.nextLink === undefined)
      await seek(http, walk, state, last);
  } catch (error) {
    walk.brokenBy = breakOf(error);
  }
  return walk;
}

type WalkState = { seen: Set<bigint>; empty: number };

async function step(http: Agent, walk: Walk, state: WalkState): Promise<boolean> {
  const last = walk.pages.at(-1);
  if (last === undefined) return false;
  if (last.nextLink === undefined) return seek(http, walk, state, last);
  if (state.empty > maxEmptyPages) {
    walk.endlessAt = last;
    return seek(http, walk, state, last);
  }
  const page = await readPage(http, last.nextLink, { maxPageSize: pageSize });
  const events = eventsOf(page.rows);
  if (events.length > 0 && events.every(event => state.seen.has(event.sequence))) {
    walk.endlessAt = last;
    return seek(http, walk, state, last);
  }
  state.empty = events.length === 0 ? state.empty + 1 : 0;
  addPage(walk, page, 'nextLink', state.seen);
  return true;
}

/** Asks whether anything is left behind a page without nextLink. */
async function seek(http: Agent, walk: Walk, state: WalkState, last: WalkPage): Promise<boolean> {
  const reached = highest(walk.events) ?? 0n;
  const page = await readEvents(
    http,
    { $filter: `EntityEventSequence gt ${reached}` },
    { maxPageSize: pageSize },
  );
  const fresh = page.events.filter(event => event.sequence > reached);
  if (fresh.length === 0) {
    walk.complete = true;
    return false;
  }
  const owed =
    walk.headBefore === undefined
      ? fresh.length >= last.events.length
      : fresh.some(event => event.sequence <= (walk.headBefore ?? 0n));
  // New events may arrive while a live feed is walked; they are not owed by the page before them.
  if (!owed) {
    walk.complete = true;
    return false;
  }
  if (walk.endlessAt === undefined) walk.cutShortAfter ??= last;
  addPage(walk, page, 'seek', state.seen);
  return true;
}

function addPage(
  walk: Walk,
  page: { exchange: Exchange; rows: JsonObject[]; nextLink?: string; body: JsonObject },
  by: WalkPage['by'],
  seen: Set<bigint>,
): void {
  const events = eventsOf(page.rows);
  for (const event of events) seen.add(event.sequence);
  // A hundred full pages are kept as rows; their text would only double that.
  const exchange = { ...page.exchange, text: page.exchange.text.slice(0, keptCharacters) };
  const added: WalkPage = { exchange, by, rows: page.rows, events };
  if (page.nextLink !== undefined) added.nextLink = page.nextLink;
  const context = page.body['@odata.context'] ?? page.body['@context'];
  if (typeof context === 'string') added.context = context;
  walk.pages.push(added);
  for (const event of events) walk.events.push(event);
}

/** The highest number that the server admits to, or undefined where it cannot sort. */
export async function headOf(http: Agent): Promise<bigint | undefined> {
  try {
    const page = await readEvents(http, { $orderby: 'EntityEventSequence desc', $top: 1 });
    return highest(page.events);
  } catch (error) {
    if (error instanceof Violation) return undefined;
    throw error;
  }
}

function breakOf(error: unknown): { reason: string; exchanges: Exchange[] } {
  if (error instanceof Violation || error instanceof Unexercised) {
    return { reason: error.message, exchanges: error.exchanges };
  }
  if (error instanceof NoAnswer) return { reason: `${error.request.url}: ${error.message}`, exchanges: [] };
  throw error;
}
