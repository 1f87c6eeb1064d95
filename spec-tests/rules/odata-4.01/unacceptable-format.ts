import { fail, pass, type Rule } from '../../rule.ts';

/** OData Protocol 8.2.1, Header Accept. */
export const rule: Rule = {
  id: 'odata-4.01/unacceptable-format',
  covers: ['ODATA.formats'],
  clause: 'A format that is not offered is refused with 406, not answered in another one.',
  level: 'SHOULD',
  modes: ['observe', 'full'],
  sends: 'GET /EntityEvent with Accept: application/atom+xml',
  expects: 'HTTP 406 or 415.',
  async check(context) {
    const exchange = await context.http.send('EntityEvent?$top=1', {
      headers: { Accept: 'application/atom+xml' },
    });
    if (exchange.status === 406 || exchange.status === 415)
      return pass(`HTTP ${exchange.status}`, [exchange]);
    return fail(`HTTP ${exchange.status} for Accept: application/atom+xml`, 'Answer 406.', [exchange]);
  },
};
