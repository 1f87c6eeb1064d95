import { ascending, walkWithEvents } from '../../checks/sampled-events.ts';
import { eventsOf } from '../../feed/event.ts';
import { readPage } from '../../http/page.ts';
import { fail, pass, type Rule, skip } from '../../rule.ts';

/** OData URL Conventions 2: percent-encoding is undone before options are looked at. */
export const rule: Rule = {
  id: 'odata-4.01/encoded-option-name',
  covers: ['ODATA.options'],
  clause: 'Names of query options may be percent-encoded, as some clients send them.',
  level: 'MUST',
  modes: ['observe', 'full'],
  sends: 'GET /EntityEvent?%24filter=EntityEventSequence%20gt%20N',
  expects: 'The same as for $filter.',
  async check(context) {
    const all = ascending(await walkWithEvents(context));
    const event = all[Math.floor((all.length - 1) / 2)];
    if (event === undefined || all.length < 2) return skip('the log holds fewer than two events');
    const page = await readPage(
      context.http,
      `EntityEvent?%24filter=EntityEventSequence%20gt%20${event.sequence}`,
    );
    const early = eventsOf(page.rows).some(each => each.sequence < event.sequence);
    if (!early && page.rows.length > 0) return pass('%24filter is $filter', [page.exchange]);
    return fail('%24filter is not taken for $filter', 'Decode the names of query options.', [page.exchange]);
  },
};
