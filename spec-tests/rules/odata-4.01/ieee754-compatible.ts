import { readEvents } from '../../feed/read.ts';
import { fail, pass, type Rule, skip } from '../../rule.ts';

/** OData JSON Format 3.2, Controlling the Representation of Numbers. */
export const rule: Rule = {
  id: 'odata-4.01/ieee754-compatible',
  covers: ['ODATA.int64'],
  clause:
    'IEEE754Compatible=true has Int64 and counts written as strings, for clients that would round them.',
  level: 'SHOULD',
  modes: ['observe', 'full'],
  sends: 'GET /EntityEvent with Accept: application/json;IEEE754Compatible=true',
  expects: 'EntityEventSequence as a string.',
  async check(context) {
    const headers = { Accept: 'application/json;IEEE754Compatible=true' };
    const page = await readEvents(context.http, { $top: 2 }, { headers });
    const row = page.rows[0];
    if (row === undefined) return skip('the log is empty', [page.exchange]);
    if (typeof row.EntityEventSequence === 'string') return pass('numbers come as strings', [page.exchange]);
    return fail('numbers come as numbers', 'Honour IEEE754Compatible=true.', [page.exchange]);
  },
};
