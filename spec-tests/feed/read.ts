import { address } from '../http/address.ts';
import type { Agent } from '../http/agent.ts';
import { type Page, type PageAsk, readPage } from '../http/page.ts';
import { eventsOf, type FeedEvent } from './event.ts';

/** A page of the log. */
export type EventPage = Page & { events: FeedEvent[] };

/** Reads one page of EntityEvent with the given query options. @throws Violation when it is no page. */
export async function readEvents(
  http: Agent,
  options: Record<string, string | number | bigint>,
  ask: PageAsk = {},
): Promise<EventPage> {
  return withEvents(await readPage(http, address('EntityEvent', options), ask));
}

/** Adds the events to a page. */
function withEvents(page: Page): EventPage {
  return { ...page, events: eventsOf(page.rows) };
}

/**
 * Reads every event with `from <= sequence <= to` by steps of `gt`, which needs neither `$top` nor nextLink to work.
 * Ends after `maxPages` pages.
 */
export async function readWindow(
  http: Agent,
  from: bigint,
  to: bigint,
  maxPages = 20,
): Promise<{ events: FeedEvent[]; pages: EventPage[] }> {
  const events: FeedEvent[] = [];
  const pages: EventPage[] = [];
  let cursor = from - 1n;
  while (cursor < to && pages.length < maxPages) {
    const filter = `EntityEventSequence gt ${cursor}`;
    const page = await readEvents(http, { $filter: filter }, { maxPageSize: 1000 });
    pages.push(page);
    let reached = cursor;
    for (const event of page.events) {
      if (event.sequence > to || event.sequence < from) continue;
      events.push(event);
      if (event.sequence > reached) reached = event.sequence;
    }
    if (reached === cursor) break;
    cursor = reached;
  }
  return { events, pages };
}
