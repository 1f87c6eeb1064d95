import { readEvents } from '../../feed/read.ts';
import { fail, pass, type Rule, skip } from '../../rule.ts';

/** OData Protocol 8.2.8.6, Preference maxpagesize. */
export const rule: Rule = {
  id: 'odata-4.01/max-page-size',
  covers: ['ODATA.paging'],
  clause: 'Prefer: odata.maxpagesize is honoured.',
  level: 'SHOULD',
  modes: ['observe', 'full'],
  sends: 'GET /EntityEvent with Prefer: odata.maxpagesize=2',
  expects: 'At most two rows.',
  async check(context) {
    const page = await readEvents(context.http, {}, { maxPageSize: 2 });
    if (page.rows.length === 0) return skip('the log is empty', [page.exchange]);
    if (page.rows.length <= 2) return pass(`${page.rows.length} rows`, [page.exchange]);
    return fail(`${page.rows.length} rows for maxpagesize=2`, 'Honour maxpagesize up to your own limit.', [
      page.exchange,
    ]);
  },
};
