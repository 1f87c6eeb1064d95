import { walkWithEvents } from '../../checks/sampled-events.ts';
import { highest, lowest } from '../../feed/event.ts';
import { fail, pass, type Rule } from '../../rule.ts';

/** RCP-027, Entity Events, sixth item; Producers. */
export const rule: Rule = {
  id: 'rcp-027/sequence-monotonic',
  covers: ['RCP-027.6', 'RCP-027.11', 'RCP-027.20h'],
  clause: 'The sequence only rises: a later page never goes back below an earlier one.',
  level: 'MUST',
  modes: ['observe', 'full'],
  sends: 'The walk of the log, page after page.',
  expects: 'Each page begins at or above the highest number that came before.',
  async check(context) {
    const walk = await walkWithEvents(context);
    let reached: bigint | undefined;
    for (const [index, page] of walk.pages.entries()) {
      const low = lowest(page.events);
      if (low !== undefined && reached !== undefined && low < reached) {
        const evidence = walk.pages.slice(index - 1, index + 1).map(each => each.exchange);
        const reason = `page ${index + 1} goes back to ${low} after ${reached} had been served`;
        return fail(
          reason,
          'Page by EntityEventSequence ascending, each page after the last number served.',
          evidence,
        );
      }
      reached = highest(page.events) ?? reached;
    }
    const evidence = walk.pages.slice(0, 2).map(page => page.exchange);
    return pass(`${walk.pages.length} pages rise up to ${reached}`, evidence);
  },
};
