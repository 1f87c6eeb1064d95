import { ascending, walkWithEvents } from '../../checks/sampled-events.ts';
import { eventsOf } from '../../feed/event.ts';
import { readEvents } from '../../feed/read.ts';
import { stringLiteral } from '../../http/address.ts';
import { followPages } from '../../http/page.ts';
import { fail, pass, type Rule, skip } from '../../rule.ts';

/** Web API Core 2.1.0, Server-Driven Paging, fourth item, on the log. */
export const rule: Rule = {
  id: 'core-2.1.0/nextlink-keeps-filter',
  covers: ['CORE-2.1.0.4'],
  clause: 'A nextLink carries the filter on: every row of every page fulfils it.',
  level: 'MUST',
  modes: ['observe', 'full'],
  sends: 'A filter on ResourceName with Prefer: odata.maxpagesize=2, then its nextLinks.',
  expects: 'Only events of that resource.',
  async check(context) {
    const all = ascending(await walkWithEvents(context));
    const names = new Map<string, number>();
    for (const event of all) names.set(event.resource, (names.get(event.resource) ?? 0) + 1);
    const name = [...names].filter(([, count]) => count >= 5).sort((a, b) => a[1] - b[1])[0]?.[0];
    if (name === undefined || names.size < 2)
      return skip('the log does not hold two resources with five events');
    const ask = { maxPageSize: 2 };
    const first = await readEvents(context.http, { $filter: `ResourceName eq ${stringLiteral(name)}` }, ask);
    const pages = await followPages(context.http, first, 12, ask);
    if (pages.length < 2) return skip('there is only one page', [first.exchange]);
    for (const [index, page] of pages.entries()) {
      const wrong = eventsOf(page.rows).find(event => event.resource !== name);
      if (wrong === undefined) continue;
      const reason = `page ${index + 1} of a filter on ${name} holds an event of ${wrong.resource}`;
      return fail(reason, 'Keep the filter in the nextLink.', [first.exchange, page.exchange]);
    }
    return pass(
      `${pages.length} pages hold only ${name}`,
      pages.slice(0, 2).map(page => page.exchange),
    );
  },
};
