import { fail, pass, type Rule } from '../../rule.ts';

/** OData URL Conventions 5.1: system query options must not come twice. */
export const rule: Rule = {
  id: 'odata-4.01/repeated-option-400',
  covers: ['ODATA.options'],
  clause: 'A query option that comes twice is refused.',
  level: 'SHOULD',
  modes: ['observe', 'full'],
  sends: 'GET /EntityEvent?$top=1&$top=2',
  expects: 'HTTP 400.',
  async check(context) {
    const exchange = await context.http.send('EntityEvent?$top=1&$top=2');
    if (exchange.status === 400) return pass('HTTP 400', [exchange]);
    return fail(`HTTP ${exchange.status} for two $top`, 'Answer 400 to an option given twice.', [exchange]);
  },
};
