import { fail, pass, type Rule } from '../../rule.ts';

/** Web API Core 2.0.0, 2.4: field names are case-sensitive in $select, $filter and $orderby. */
export const rule: Rule = {
  id: 'core-2.0.0/case-sensitive-names',
  covers: ['CORE-2.0.0.8'],
  clause: 'Field names are case-sensitive.',
  level: 'MUST',
  modes: ['observe', 'full'],
  sends: 'GET /EntityEvent?$filter=entityeventsequence gt 0',
  expects: 'HTTP 400, as for any unknown field.',
  async check(context) {
    const exchange = await context.http.send('EntityEvent?$filter=entityeventsequence%20gt%200&$top=1');
    if (exchange.status >= 400 && exchange.status < 500)
      return pass('the small letters are refused', [exchange]);
    return fail(
      `HTTP ${exchange.status} for a field name in small letters`,
      'Treat it as an unknown field.',
      [exchange],
    );
  },
};
