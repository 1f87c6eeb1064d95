import { readEvents } from '../../feed/read.ts';
import { followPages } from '../../http/page.ts';
import { fail, pass, type Rule, skip } from '../../rule.ts';

/** OData Protocol 11.2.6.3: $top is the number of rows of the result, over all its pages. */
export const rule: Rule = {
  id: 'odata-4.01/top-is-total',
  covers: ['ODATA.paging', 'CORE-2.0.0.10b'],
  clause: '$top limits the whole result, not each page.',
  level: 'MUST',
  modes: ['observe', 'full'],
  sends: 'GET /EntityEvent?$top=5 with Prefer: odata.maxpagesize=2, then its nextLinks.',
  expects: 'Five events in all.',
  async check(context) {
    const walk = await context.walk();
    if (walk.events.length < 6) return skip('the log holds fewer than six events');
    const ask = { maxPageSize: 2 };
    const pages = await followPages(context.http, await readEvents(context.http, { $top: 5 }, ask), 6, ask);
    const rows = pages.reduce((sum, page) => sum + page.rows.length, 0);
    const evidence = pages.slice(0, 3).map(page => page.exchange);
    if (rows === 5) return pass(`five events on ${pages.length} pages`, evidence);
    if (rows < 5 && pages.at(-1)?.nextLink === undefined) {
      return fail(
        `$top=5 brought ${rows} events and no nextLink`,
        'Give a nextLink until $top rows are served.',
        evidence,
      );
    }
    return fail(
      `$top=5 brought ${rows} events over ${pages.length} pages`,
      'Carry what is left of $top in the nextLink.',
      evidence,
    );
  },
};
