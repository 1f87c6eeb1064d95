import { eventsOf } from '../../feed/event.ts';
import { readEvents } from '../../feed/read.ts';
import { followPages } from '../../http/page.ts';
import { fail, pass, type Rule, skip } from '../../rule.ts';

/** Web API Core 2.1.0, Server-Driven Paging, third item. */
export const rule: Rule = {
  id: 'core-2.1.0/ten-pages-no-repeat',
  covers: ['CORE-2.1.0.3'],
  clause: 'Ten pages and more through nextLink without a filter repeat nothing.',
  level: 'MUST',
  modes: ['observe', 'full'],
  sends: 'GET /EntityEvent with Prefer: odata.maxpagesize=3, then twelve nextLinks.',
  expects: 'No event twice.',
  async check(context) {
    const ask = { maxPageSize: 3 };
    const pages = await followPages(context.http, await readEvents(context.http, {}, ask), 12, ask);
    if (pages.length < 2)
      return skip(
        'there is only one page',
        pages.map(page => page.exchange),
      );
    const seen = new Set<bigint>();
    for (const page of pages) {
      for (const { sequence } of eventsOf(page.rows)) {
        if (seen.has(sequence))
          return fail(`${sequence} came twice`, 'Page without repeating rows.', [page.exchange]);
        seen.add(sequence);
      }
    }
    return pass(
      `${pages.length} pages with ${seen.size} different events`,
      pages.slice(0, 2).map(page => page.exchange),
    );
  },
};
