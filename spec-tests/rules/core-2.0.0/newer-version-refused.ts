import { fail, pass, type Rule } from '../../rule.ts';

/** Web API Core 2.0.0, 2.2.1, table, last row. */
export const rule: Rule = {
  id: 'core-2.0.0/newer-version-refused',
  covers: ['CORE-2.0.0.3'],
  clause: 'A request that says it is made in a newer version than any supported is refused with 400.',
  level: 'MUST',
  modes: ['observe', 'full'],
  sends: 'GET /EntityEvent with OData-Version: 9.9',
  expects: 'HTTP 400.',
  async check(context) {
    const exchange = await context.http.send('EntityEvent?$top=1', { headers: { 'OData-Version': '9.9' } });
    if (exchange.status === 400) return pass('version 9.9 is refused', [exchange]);
    return fail(
      `HTTP ${exchange.status} for OData-Version: 9.9`,
      'Answer 400 to a version that is newer than yours.',
      [exchange],
    );
  },
};
