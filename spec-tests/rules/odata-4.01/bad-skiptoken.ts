import { fail, pass, type Rule } from '../../rule.ts';

/** OData Protocol 9.2: what a client made up is the client's fault. */
export const rule: Rule = {
  id: 'odata-4.01/bad-skiptoken',
  covers: ['ODATA.paging'],
  clause: 'A continuation token that was never given out is refused, and does not break the server.',
  level: 'SHOULD',
  modes: ['observe', 'full'],
  sends: 'GET /EntityEvent?$skiptoken=no-such-token',
  expects: 'HTTP 400, 404 or 410.',
  async check(context) {
    const exchange = await context.http.send('EntityEvent?$skiptoken=no-such-token');
    if ([400, 404, 410].includes(exchange.status)) return pass(`HTTP ${exchange.status}`, [exchange]);
    return fail(`HTTP ${exchange.status} for a made-up token`, 'Answer 400 to a token that is not yours.', [
      exchange,
    ]);
  },
};
