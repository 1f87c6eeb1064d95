import { isObject } from '../../http/exact-json.ts';
import { jsonOf } from '../../http/exchange.ts';
import { fail, pass, type Rule, skip } from '../../rule.ts';

/** Web API Core 2.0.0, 2.6.2 Error Message Bodies; OData JSON Format, Error Response. */
export const rule: Rule = {
  id: 'core-2.0.0/error-body',
  covers: ['CORE-2.0.0.16c'],
  clause: 'Errors come as an OData error object with code and message.',
  level: 'MUST',
  modes: ['observe', 'full'],
  sends: "GET /EntityEvent?$filter=BadField eq 'SoBad'",
  expects: '{"error":{"code":"...","message":"..."}}',
  async check(context) {
    const exchange = await context.http.send("EntityEvent?$filter=BadField%20eq%20'SoBad'");
    if (exchange.status < 400) return skip('the wrong filter was not refused', [exchange]);
    const body = jsonOf(exchange);
    const error = isObject(body) ? body.error : undefined;
    const isWhole =
      isObject(error) && [error.code, error.message].every(part => typeof part === 'string' && part !== '');
    if (isWhole) return pass('code and message are there', [exchange]);
    return fail('the body is no OData error object', 'Answer errors with {"error":{"code","message"}}.', [
      exchange,
    ]);
  },
};
