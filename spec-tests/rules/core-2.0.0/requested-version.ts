import { fail, pass, type Rule } from '../../rule.ts';

/** Web API Core 2.0.0, 2.2.1, table; OData Protocol 8.2.6. */
export const rule: Rule = {
  id: 'core-2.0.0/requested-version',
  covers: ['CORE-2.0.0.3'],
  clause: 'A supported older version is answered in that version; an unsupported one with 400.',
  level: 'MUST',
  modes: ['observe', 'full'],
  sends: 'GET /EntityEvent with OData-Version: 4.0 and OData-MaxVersion: 4.0',
  expects: 'OData-Version: 4.0, or HTTP 400.',
  async check(context) {
    const headers = { 'OData-Version': '4.0', 'OData-MaxVersion': '4.0' };
    const exchange = await context.http.send('EntityEvent?$top=1', { headers });
    const version = exchange.headers['odata-version'];
    if (exchange.status === 400) return pass('version 4.0 is refused with 400', [exchange]);
    if (exchange.status === 200 && version === '4.0')
      return pass('version 4.0 is answered in 4.0', [exchange]);
    const reason = `HTTP ${exchange.status} with OData-Version ${version ?? 'absent'} for a request of 4.0`;
    return fail(reason, 'Answer in the requested version.', [exchange]);
  },
};
