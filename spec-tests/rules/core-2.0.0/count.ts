import { stretch } from '../../checks/sequence-filter.ts';
import { readEvents } from '../../feed/read.ts';
import { followPages } from '../../http/page.ts';
import { fail, pass, type Rule, skip } from '../../rule.ts';

/** Web API Core 2.0.0, 2.5.4 $count. */
export const rule: Rule = {
  id: 'core-2.0.0/count',
  covers: ['CORE-2.0.0.10c'],
  clause: '$count=true gives the number of all rows that fulfil the filter.',
  level: 'MUST',
  modes: ['observe', 'full'],
  sends: 'A short stretch of the log by $filter with $count=true, and its pages.',
  expects: '@odata.count equal to the number of rows on all pages.',
  async check(context) {
    const events = await stretch(context, 5);
    const from = events[0]?.sequence ?? 0n;
    const to = events.at(-1)?.sequence ?? 0n;
    const filter = `EntityEventSequence ge ${from} and EntityEventSequence le ${to}`;
    const page = await readEvents(context.http, { $filter: filter, $count: 'true' });
    if (page.count === undefined) {
      return fail('the answer has no @odata.count', 'Answer $count=true with @odata.count.', [page.exchange]);
    }
    const pages = await followPages(context.http, page, 10);
    if (pages.at(-1)?.nextLink !== undefined)
      return skip('the stretch did not end within ten pages', [page.exchange]);
    const rows = pages.reduce((sum, each) => sum + each.rows.length, 0);
    if (BigInt(rows) === page.count) return pass(`@odata.count is ${rows}, as are the rows`, [page.exchange]);
    return fail(
      `@odata.count is ${page.count} for ${rows} rows`,
      'Count the rows of the filter, over all pages.',
      [page.exchange],
    );
  },
};
