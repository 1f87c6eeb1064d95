import { isObject } from '../../http/exact-json.ts';
import { jsonOf } from '../../http/exchange.ts';
import { fail, pass, type Rule, skip } from '../../rule.ts';

/** Web API Core 2.0.0: OAuth2 client credentials; RFC 6749 section 5.1. */
export const rule: Rule = {
  id: 'core-2.0.0/client-credentials',
  covers: ['CORE-2.0.0.18b'],
  clause: 'The token endpoint answers client credentials with a bearer token.',
  level: 'MUST',
  modes: ['observe', 'full'],
  sends: 'POST to the token endpoint with grant_type=client_credentials.',
  expects: 'access_token and token_type Bearer.',
  async check(context) {
    const exchange = await context.tokenExchange();
    if (exchange === undefined) return skip('the run was made without client credentials');
    const body = jsonOf(exchange);
    const type = isObject(body) ? body.token_type : undefined;
    if (typeof type === 'string' && type.toLowerCase() === 'bearer')
      return pass('a bearer token was given', [exchange]);
    return fail(`token_type is ${JSON.stringify(type) ?? 'absent'}`, 'Answer as RFC 6749 section 5.1 says.', [
      exchange,
    ]);
  },
};
