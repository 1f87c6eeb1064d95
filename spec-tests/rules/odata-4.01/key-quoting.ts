import { address, stringLiteral } from '../../http/address.ts';
import { isObject } from '../../http/exact-json.ts';
import { jsonOf } from '../../http/exchange.ts';
import { readPage } from '../../http/page.ts';
import { fail, pass, type Rule, skip } from '../../rule.ts';
import { keyField, recordPath } from '../../service/records.ts';

/** OData URL Conventions 4.3.1 and 5.1.1.6.1: quotes are doubled, the rest is percent-encoded. */
export const rule: Rule = {
  id: 'odata-4.01/key-quoting',
  covers: ['ODATA.keys', 'CORE-2.0.0.7a'],
  clause: 'A key with a quote, a blank or another special character can be fetched and filtered for.',
  level: 'MUST',
  modes: ['observe', 'full'],
  sends:
    "GET /Resource('O''Neil%207') and a filter on it, for keys of the log or the samples that hold such characters.",
  expects: 'The record.',
  async check(context) {
    const service = await context.service();
    for await (const sample of context.samples()) {
      const name = keyField(sample.type);
      if (name === undefined) continue;
      const key = sample.rows
        .map(row => row[name])
        .find(each => typeof each === 'string' && /[^A-Za-z0-9_.~-]/.test(each));
      if (typeof key !== 'string') continue;
      const exchange = await context.http.send(recordPath(service, sample.resource, key));
      const body = jsonOf(exchange);
      if (exchange.status !== 200 || !isObject(body) || body[name] !== key) {
        return fail(
          `HTTP ${exchange.status} for the key ${key}`,
          'Decode the path once, then undouble the quotes.',
          [exchange],
        );
      }
      const page = await readPage(
        context.http,
        address(sample.resource, { $filter: `${name} eq ${stringLiteral(key)}` }),
      );
      if (page.rows.length === 1 && page.rows[0]?.[name] === key)
        return pass(`the key ${key} works`, [exchange, page.exchange]);
      return fail(
        `a filter for the key ${key} found ${page.rows.length} rows`,
        'Undouble quotes in string literals.',
        [page.exchange],
      );
    }
    return skip('no sampled key holds a special character');
  },
};
