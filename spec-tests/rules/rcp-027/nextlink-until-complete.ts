import { firstExchange, walkWithEvents } from '../../checks/sampled-events.ts';
import { highest } from '../../feed/event.ts';
import { fail, pass, type Rule, skip } from '../../rule.ts';

/** RCP-027, Initial Synchronization. */
export const rule: Rule = {
  id: 'rcp-027/nextlink-until-complete',
  covers: ['RCP-027.16'],
  clause: '@odata.nextLink is present until all EntityEvent data has been returned.',
  level: 'MUST',
  modes: ['observe', 'full'],
  sends: 'The walk of the log, and behind a page without nextLink a filter for what comes after it.',
  expects: 'Nothing is left behind a page without nextLink, except events that are newer than the walk.',
  async check(context) {
    const walk = await walkWithEvents(context);
    const cut = walk.cutShortAfter;
    if (cut !== undefined) {
      const reason = `a page that ends at ${highest(cut.events)} has no nextLink, though more events follow`;
      return fail(reason, 'Give a nextLink on every page but the last.', [cut.exchange]);
    }
    if (!walk.complete && walk.pages.length < 2) return skip('the walk did not get beyond its first page');
    return pass(`nextLinks lead over ${walk.pages.length} pages`, firstExchange(walk));
  },
};
