import { readEvents } from '../../feed/read.ts';
import { fail, pass, type Rule, skip } from '../../rule.ts';

/** Web API Core 2.0.0, 2.5.4 $top. */
export const rule: Rule = {
  id: 'core-2.0.0/top',
  covers: ['CORE-2.0.0.10b'],
  clause: '$top limits the number of rows.',
  level: 'MUST',
  modes: ['observe', 'full'],
  sends: 'GET /EntityEvent?$top=3',
  expects: 'At most three rows, and at least one where there are events.',
  async check(context) {
    const page = await readEvents(context.http, { $top: 3 });
    const walk = await context.walk();
    if (page.rows.length > 3) {
      return fail(`${page.rows.length} rows for $top=3`, 'Return no more rows than $top.', [page.exchange]);
    }
    if (walk.events.length === 0) return skip('the log is empty', [page.exchange]);
    if (page.rows.length === 0) return fail('no row for $top=3', 'Return rows for $top.', [page.exchange]);
    return pass(`${page.rows.length} rows for $top=3`, [page.exchange]);
  },
};
