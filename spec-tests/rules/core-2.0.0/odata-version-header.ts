import type { Exchange } from '../../http/exchange.ts';
import { fail, pass, type Rule } from '../../rule.ts';

const remedy = 'Send exactly one OData-Version header, 4.0 or 4.01, with every response.';

/** Web API Core 2.0.0, 2.2.1 Version Header. Error answers are not looked at, since Core's own tests do not. */
export const rule: Rule = {
  id: 'core-2.0.0/odata-version-header',
  covers: ['CORE-2.0.0.2', 'CORE-2.0.0.3'],
  clause: 'Responses carry an OData-Version header.',
  level: 'MUST',
  modes: ['observe', 'full'],
  sends: 'GET of the service document, the metadata and EntityEvent.',
  expects: 'OData-Version: 4.0 or 4.01, once.',
  async check(context) {
    const { http } = context;
    const exchanges: Exchange[] = [
      await http.send('EntityEvent?$top=1'),
      await http.send('$metadata', { headers: { Accept: 'application/xml' } }),
      await http.send(''),
    ];
    for (const exchange of exchanges.filter(each => each.status === 200)) {
      const version = exchange.headers['odata-version']?.trim();
      if (version === undefined) return fail('a response has no OData-Version', remedy, [exchange]);
      if (version !== '4.0' && version !== '4.01') {
        return fail(`OData-Version is "${version}"`, remedy, [exchange]);
      }
    }
    return pass('every response says its version', exchanges);
  },
};
