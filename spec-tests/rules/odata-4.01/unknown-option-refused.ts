import { fail, pass, type Rule } from '../../rule.ts';

/** OData Protocol 11.2.1: services should fail on unknown options that begin with $. */
export const rule: Rule = {
  id: 'odata-4.01/unknown-option-refused',
  covers: ['ODATA.options'],
  clause: 'An unknown query option that begins with $ is refused, not silently ignored.',
  level: 'SHOULD',
  modes: ['observe', 'full'],
  sends: 'GET /EntityEvent?$fliter=EntityEventSequence gt 0',
  expects: 'HTTP 400 or 501.',
  async check(context) {
    const exchange = await context.http.send('EntityEvent?$fliter=EntityEventSequence%20gt%200&$top=1');
    if (exchange.status === 400 || exchange.status === 501)
      return pass(`HTTP ${exchange.status}`, [exchange]);
    const remedy = 'Refuse unknown $ options: a misspelt $filter would otherwise return everything.';
    return fail(`HTTP ${exchange.status} for $fliter`, remedy, [exchange]);
  },
};
