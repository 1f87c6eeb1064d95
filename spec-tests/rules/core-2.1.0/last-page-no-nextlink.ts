import { stretch } from '../../checks/sequence-filter.ts';
import { readEvents } from '../../feed/read.ts';
import { followPages } from '../../http/page.ts';
import { fail, pass, type Rule } from '../../rule.ts';

/** Web API Core 2.1.0, Server-Driven Paging, fourth item: the last page. */
export const rule: Rule = {
  id: 'core-2.1.0/last-page-no-nextlink',
  covers: ['CORE-2.1.0.4'],
  clause: 'The last page of a filtered set has no nextLink.',
  level: 'MUST',
  modes: ['observe', 'full'],
  sends: 'A stretch of five events with Prefer: odata.maxpagesize=2, then its nextLinks.',
  expects: 'An end within the pages that the rows need.',
  async check(context) {
    const events = await stretch(context, 5);
    const bounds = `EntityEventSequence gt ${(events[0]?.sequence ?? 0n) - 1n} and EntityEventSequence lt ${(events.at(-1)?.sequence ?? 0n) + 1n}`;
    const ask = { maxPageSize: 2 };
    const pages = await followPages(
      context.http,
      await readEvents(context.http, { $filter: bounds }, ask),
      9,
      ask,
    );
    const last = pages.at(-1);
    const surplus = pages.length > 1 && last?.rows.length === 0 ? pages.at(-2) : undefined;
    if (surplus !== undefined) {
      const reason = 'the last page with events has a nextLink, which leads to an empty page';
      return fail(reason, 'Leave nextLink out when the set is exhausted.', [surplus.exchange]);
    }
    if (last?.nextLink === undefined)
      return pass(
        `the end came after ${pages.length} pages`,
        [last?.exchange].filter(each => each !== undefined),
      );
    return fail('the last page has a nextLink', 'Leave nextLink out when the set is exhausted.', [
      last.exchange,
    ]);
  },
};
