import { readEvents } from '../../feed/read.ts';
import { fail, pass, type Rule } from '../../rule.ts';

/** OData Protocol 11.2.6.3; Core's sample query $top=0&$count=true. */
export const rule: Rule = {
  id: 'odata-4.01/top-zero',
  covers: ['CORE-2.0.0.10b', 'CORE-2.0.0.10c'],
  clause: '$top=0 with $count=true brings the count and no rows.',
  level: 'MUST',
  modes: ['observe', 'full'],
  sends: 'GET /EntityEvent?$top=0&$count=true',
  expects: 'An empty value, @odata.count, no nextLink.',
  async check(context) {
    const page = await readEvents(context.http, { $top: 0, $count: 'true' });
    const faults = [
      page.rows.length > 0 ? `${page.rows.length} rows` : undefined,
      page.count === undefined ? 'no @odata.count' : undefined,
      page.nextLink === undefined ? undefined : 'a nextLink',
    ].filter(each => each !== undefined);
    if (faults.length === 0) return pass(`no rows, and a count of ${page.count}`, [page.exchange]);
    return fail(`$top=0 brought ${faults.join(' and ')}`, 'Answer $top=0 with the count alone.', [
      page.exchange,
    ]);
  },
};
