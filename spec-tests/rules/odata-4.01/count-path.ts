import { mediaType } from '../../http/exchange.ts';
import { fail, pass, type Rule } from '../../rule.ts';

/** OData Protocol 11.2.10, Requesting the Number of Items. */
export const rule: Rule = {
  id: 'odata-4.01/count-path',
  covers: ['ODATA.count'],
  clause: '/$count gives the number of rows as plain text.',
  level: 'SHOULD',
  modes: ['observe', 'full'],
  sends: 'GET /EntityEvent/$count',
  expects: 'text/plain with digits only.',
  async check(context) {
    const exchange = await context.http.send('EntityEvent/$count', {
      headers: { Accept: 'text/plain, */*' },
    });
    const isPlain =
      exchange.status === 200 && /^[0-9]+$/.test(exchange.text) && mediaType(exchange) === 'text/plain';
    if (isPlain) return pass(`the count is ${exchange.text}`, [exchange]);
    return fail(
      `HTTP ${exchange.status}, ${mediaType(exchange)}: ${exchange.text.slice(0, 40)}`,
      'Serve /$count as text/plain.',
      [exchange],
    );
  },
};
