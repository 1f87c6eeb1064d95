import { isObject } from '../../http/exact-json.ts';
import { jsonOf, mediaType } from '../../http/exchange.ts';
import { fail, pass, type Rule } from '../../rule.ts';

/** Web API Core 2.0.0, 2: JSON for data. */
export const rule: Rule = {
  id: 'core-2.0.0/json-data',
  covers: ['CORE-2.0.0.1b'],
  clause: 'Data comes as JSON and says so.',
  level: 'MUST',
  modes: ['observe', 'full'],
  sends: 'GET /EntityEvent',
  expects: 'Content-Type application/json.',
  async check(context) {
    const exchange = await context.http.send('EntityEvent?$top=2');
    const type = mediaType(exchange);
    if (type === 'application/json' && isObject(jsonOf(exchange))) return pass('JSON', [exchange]);
    return fail(`the content type is "${type}"`, 'Send data as application/json.', [exchange]);
  },
};
