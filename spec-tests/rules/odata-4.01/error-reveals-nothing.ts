import { fail, pass, type Rule, skip } from '../../rule.ts';

const traces =
  /\bat .+\((.+:\d+|native)\)|node_modules|Traceback \(most recent|\bselect\b.+\bfrom\b|SQLSTATE|ORA-\d{5}|System\.\w+Exception/i;

/** OData Protocol 9.4: errors should not reveal the workings of the service. */
export const rule: Rule = {
  id: 'odata-4.01/error-reveals-nothing',
  covers: ['ODATA.errors'],
  clause: 'Error texts hold no stack trace and no SQL.',
  level: 'SHOULD',
  modes: ['observe', 'full'],
  sends: 'Three requests that are wrong.',
  expects: 'Messages for a client.',
  async check(context) {
    const paths = [
      "EntityEvent?$filter=BadField%20eq%20'SoBad'",
      'EntityEvent?$filter=((',
      'EntityEvent(abc)',
    ];
    const refused = [];
    for (const path of paths) {
      const exchange = await context.http.send(path);
      if (exchange.status < 400) continue;
      refused.push(exchange);
      if (!traces.test(exchange.text)) continue;
      return fail('an error text shows a stack trace or SQL', 'Log the cause; send code and message only.', [
        exchange,
      ]);
    }
    return refused.length === 0
      ? skip('no wrong request was refused')
      : pass('no error text reveals more', refused);
  },
};
