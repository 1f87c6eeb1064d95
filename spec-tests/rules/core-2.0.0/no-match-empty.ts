import { readEvents } from '../../feed/read.ts';
import { headOf } from '../../feed/walk.ts';
import { fail, pass, type Rule } from '../../rule.ts';

const beyond = 9_223_372_036_854_775_806n;

/** Web API Core 2.0.0, 2.6.1: 200 with an empty set when nothing matches. */
export const rule: Rule = {
  id: 'core-2.0.0/no-match-empty',
  covers: ['CORE-2.0.0.16a'],
  clause:
    'A filter that nothing fulfils is answered with 200 and no rows; so a reader at the head is told nothing new.',
  level: 'MUST',
  modes: ['observe', 'full'],
  sends:
    'GET /EntityEvent?$filter=EntityEventSequence gt N, for an N far beyond the head, and for the head itself.',
  expects: 'HTTP 200, an empty value, no nextLink.',
  async check(context) {
    const page = await readEvents(context.http, { $filter: `EntityEventSequence gt ${beyond}` });
    if (page.rows.length > 0) {
      return fail(`${page.rows.length} rows beyond the last possible number`, 'Compare exactly.', [
        page.exchange,
      ]);
    }
    if (page.nextLink !== undefined) {
      return fail('a page without rows at the end has a nextLink', 'Leave nextLink out at the end.', [
        page.exchange,
      ]);
    }
    const head = await headOf(context.http);
    if (head === undefined) return pass('an empty page came back', [page.exchange]);
    const atHead = await readEvents(context.http, { $filter: `EntityEventSequence gt ${head}` });
    return pass('an empty page came back', [page.exchange, atHead.exchange]);
  },
};
