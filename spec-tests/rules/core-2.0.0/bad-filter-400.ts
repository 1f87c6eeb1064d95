import { fail, pass, type Rule } from '../../rule.ts';

/** Web API Core 2.0.0, 2.6.1 and its test of the 400 response. */
export const rule: Rule = {
  id: 'core-2.0.0/bad-filter-400',
  covers: ['CORE-2.0.0.16b', 'CORE-2.0.0.17a'],
  clause: 'A filter on a field that does not exist is answered with 400.',
  level: 'MUST',
  modes: ['observe', 'full'],
  sends: "GET /EntityEvent?$filter=BadField eq 'SoBad'",
  expects: 'HTTP 400.',
  async check(context) {
    const exchange = await context.http.send("EntityEvent?$filter=BadField%20eq%20'SoBad'");
    if (exchange.status === 400) return pass('HTTP 400', [exchange]);
    return fail(`HTTP ${exchange.status} for an unknown field`, 'Answer 400 to a filter that is wrong.', [
      exchange,
    ]);
  },
};
