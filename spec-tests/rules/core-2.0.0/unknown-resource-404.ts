import { fail, pass, type Rule } from '../../rule.ts';

/** Web API Core 2.0.0, 2.6.1 and its test of the 404 response. */
export const rule: Rule = {
  id: 'core-2.0.0/unknown-resource-404',
  covers: ['CORE-2.0.0.16b', 'CORE-2.0.0.17b'],
  clause: 'A resource that does not exist is answered with 404.',
  level: 'MUST',
  modes: ['observe', 'full'],
  sends: 'GET /ResourceThatDoesNotExist',
  expects: 'HTTP 404.',
  async check(context) {
    const exchange = await context.http.send('ResourceThatDoesNotExist');
    if (exchange.status === 404) return pass('HTTP 404', [exchange]);
    return fail(`HTTP ${exchange.status} for an unknown resource`, 'Answer 404.', [exchange]);
  },
};
