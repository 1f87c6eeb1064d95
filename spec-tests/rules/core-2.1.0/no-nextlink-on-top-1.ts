import { readEvents } from '../../feed/read.ts';
import { fail, pass, type Rule } from '../../rule.ts';

/** Web API Core 2.1.0, Server-Driven Paging, second item. */
export const rule: Rule = {
  id: 'core-2.1.0/no-nextlink-on-top-1',
  covers: ['CORE-2.1.0.2'],
  clause: '$top=1 gets no nextLink, since the client got all that it asked for.',
  level: 'MUST',
  modes: ['observe', 'full'],
  sends: 'GET /EntityEvent?$top=1',
  expects: 'No @odata.nextLink.',
  async check(context) {
    const page = await readEvents(context.http, { $top: 1 });
    if (page.nextLink === undefined) return pass('no nextLink', [page.exchange]);
    return fail('$top=1 came with a nextLink', 'Treat $top as a total: no nextLink once it is served.', [
      page.exchange,
    ]);
  },
};
