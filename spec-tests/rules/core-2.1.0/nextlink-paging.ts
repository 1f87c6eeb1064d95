import { readEvents } from '../../feed/read.ts';
import { fail, pass, type Rule, skip } from '../../rule.ts';

/** Web API Core 2.1.0, Server-Driven Paging; OData Protocol 11.2.6.7. */
export const rule: Rule = {
  id: 'core-2.1.0/nextlink-paging',
  covers: ['CORE-2.1.0.1'],
  clause: 'An answer that holds only part of the rows carries @odata.nextLink.',
  level: 'MUST',
  modes: ['observe', 'full'],
  sends: 'GET /EntityEvent with Prefer: odata.maxpagesize=3',
  expects: 'A nextLink where the page holds fewer events than the log.',
  async check(context) {
    const walk = await context.walk();
    const page = await readEvents(context.http, {}, { maxPageSize: 3 });
    if (page.nextLink !== undefined)
      return pass(`a page of ${page.rows.length} with a nextLink`, [page.exchange]);
    if (page.rows.length >= walk.events.length) return skip('all events fit on one page', [page.exchange]);
    const reason = `${page.rows.length} of at least ${walk.events.length} events came without a nextLink`;
    return fail(reason, 'Give a nextLink whenever the answer is only a part.', [page.exchange]);
  },
};
