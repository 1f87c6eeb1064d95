import { isObject } from '../../http/exact-json.ts';
import { jsonOf } from '../../http/exchange.ts';
import { fail, pass, type Rule, skip } from '../../rule.ts';
import { keyField, recordPath, sampledKey } from '../../service/records.ts';

/** Web API Core 2.0.0, 2.3.2 and 2.5.3 Fetch by Key. */
export const rule: Rule = {
  id: 'core-2.0.0/record-by-key',
  covers: ['CORE-2.0.0.7a'],
  clause: "A record can be fetched by its key, Resource('K'), and comes at the top level of the answer.",
  level: 'MUST',
  modes: ['observe', 'full'],
  sends: "GET /Resource('K') for a key from a list.",
  expects: 'HTTP 200 and the record itself, not inside a value array.',
  async check(context) {
    const service = await context.service();
    for await (const sample of context.samples()) {
      const name = keyField(sample.type);
      const key = sampledKey(sample);
      if (name === undefined || key === undefined) continue;
      const exchange = await context.http.send(recordPath(service, sample.resource, key));
      const body = jsonOf(exchange);
      if (exchange.status === 200 && isObject(body) && String(body[name]) === key) {
        return pass(`${sample.resource} '${key}' came back`, [exchange]);
      }
      const reason = `HTTP ${exchange.status} and no ${name} at the top level`;
      return fail(reason, 'Return a single record at the top level.', [exchange]);
    }
    return skip('no record resource could be listed');
  },
};
