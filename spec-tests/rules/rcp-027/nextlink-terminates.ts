import { firstExchange, walkWithEvents } from '../../checks/sampled-events.ts';
import { fail, pass, type Rule, skip } from '../../rule.ts';

/** RCP-027, Initial Synchronization: until all data has been returned, and not for ever. */
export const rule: Rule = {
  id: 'rcp-027/nextlink-terminates',
  covers: ['RCP-027.16'],
  clause: 'Following nextLink comes to an end.',
  level: 'MUST',
  modes: ['observe', 'full'],
  sends: 'The walk of the log.',
  expects: 'No link comes a second time, and no page brings only events that were served before.',
  async check(context) {
    const walk = await walkWithEvents(context);
    if (walk.endlessAt !== undefined) {
      const reason = `after ${walk.pages.length} pages the nextLinks bring nothing new`;
      return fail(reason, 'Leave nextLink out when nothing is left.', [walk.endlessAt.exchange]);
    }
    if (!walk.complete) return skip('the log was not walked to its end', firstExchange(walk));
    return pass(`the walk ended after ${walk.pages.length} pages`, firstExchange(walk));
  },
};
