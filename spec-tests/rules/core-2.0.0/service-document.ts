import { isObject } from '../../http/exact-json.ts';
import { jsonOf } from '../../http/exchange.ts';
import { fail, pass, type Rule } from '../../rule.ts';

/** Web API Core 2.0.0, 2.5.2 Service Document. */
export const rule: Rule = {
  id: 'core-2.0.0/service-document',
  covers: ['CORE-2.0.0.6'],
  clause: 'The service document stands at the service root and lists the entity sets.',
  level: 'MUST',
  modes: ['observe', 'full'],
  sends: 'GET of the service root.',
  expects: 'HTTP 200 with a value array that names EntityEvent.',
  async check(context) {
    const exchange = await context.http.send('');
    const body = jsonOf(exchange);
    const value = isObject(body) ? body.value : undefined;
    const names = Array.isArray(value) ? value.map(each => (isObject(each) ? each.name : undefined)) : [];
    if (exchange.status === 200 && names.includes('EntityEvent'))
      return pass(`${names.length} sets`, [exchange]);
    const reason = `HTTP ${exchange.status}; ${names.length} sets, ${names.includes('EntityEvent') ? 'with' : 'without'} EntityEvent`;
    return fail(reason, 'Serve the service document at the root.', [exchange]);
  },
};
