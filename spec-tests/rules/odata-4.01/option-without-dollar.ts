import { ascending, walkWithEvents } from '../../checks/sampled-events.ts';
import { eventsOf } from '../../feed/event.ts';
import { readPage } from '../../http/page.ts';
import { fail, pass, type Rule, skip } from '../../rule.ts';

/** OData 4.01 Protocol 11.2.1: the $ may be left out; services of version 4.01 must accept it. */
export const rule: Rule = {
  id: 'odata-4.01/option-without-dollar',
  covers: ['ODATA.options'],
  clause: 'A server that answers in 4.01 takes query options without the dollar sign.',
  level: 'SHOULD',
  modes: ['observe', 'full'],
  sends: 'GET /EntityEvent?filter=EntityEventSequence gt N',
  expects: 'The same as for $filter.',
  async check(context) {
    const probe = await context.http.send('EntityEvent?$top=1');
    if (probe.headers['odata-version'] !== '4.01') return skip('the server does not answer in 4.01', [probe]);
    const all = ascending(await walkWithEvents(context));
    const event = all[Math.floor((all.length - 1) / 2)];
    if (event === undefined || all.length < 2) return skip('the log holds fewer than two events');
    const page = await readPage(
      context.http,
      `EntityEvent?filter=EntityEventSequence%20gt%20${event.sequence}`,
    );
    const early = eventsOf(page.rows).some(each => each.sequence < event.sequence);
    if (!early) return pass('filter is $filter', [page.exchange]);
    return fail('filter= was ignored', 'Accept query options without $.', [page.exchange]);
  },
};
