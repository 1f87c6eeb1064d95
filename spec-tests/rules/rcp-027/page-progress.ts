import { firstExchange, walkWithEvents } from '../../checks/sampled-events.ts';
import { fail, pass, type Rule } from '../../rule.ts';

/** OData Protocol 11.2.6.7 allows empty pages; a client that steps by its last number does not get past them. */
export const rule: Rule = {
  id: 'rcp-027/page-progress',
  covers: ['RCP-027.14', 'RCP-027.16'],
  clause: 'A page that is not the last one holds events.',
  level: 'SHOULD',
  modes: ['observe', 'full'],
  sends: 'The walk of the log.',
  expects: 'No empty page with a nextLink.',
  async check(context) {
    const walk = await walkWithEvents(context);
    const empty = walk.pages.find(page => page.rows.length === 0 && page.nextLink !== undefined);
    if (empty === undefined) return pass('no page is empty and points further', firstExchange(walk));
    const remedy =
      'Read on at the server until an event is found: plain clients step by gt of their last number.';
    return fail('an empty page carries a nextLink', remedy, [empty.exchange]);
  },
};
