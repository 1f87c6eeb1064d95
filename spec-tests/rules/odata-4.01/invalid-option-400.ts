import { fail, pass, type Rule } from '../../rule.ts';

const tries = [
  'EntityEvent?$top=-1',
  'EntityEvent?$top=abc',
  'EntityEvent?$skip=-1',
  'EntityEvent?$filter=EntityEventSequence%20gt',
];

/** OData Protocol 11.2.1 and 9.2: a malformed request is the fault of the client. */
export const rule: Rule = {
  id: 'odata-4.01/invalid-option-400',
  covers: ['ODATA.options', 'CORE-2.0.0.16b'],
  clause: 'Malformed values of query options are answered with 400.',
  level: 'SHOULD',
  modes: ['observe', 'full'],
  sends: `GET of ${tries.join(', ')}`,
  expects: 'HTTP 400 for each.',
  async check(context) {
    const exchanges = [];
    for (const path of tries) {
      const exchange = await context.http.send(path);
      if (exchange.status !== 400) {
        return fail(`HTTP ${exchange.status} for ${path}`, 'Validate query options and answer 400.', [
          exchange,
        ]);
      }
      exchanges.push(exchange);
    }
    return pass('each is refused with 400', exchanges);
  },
};
