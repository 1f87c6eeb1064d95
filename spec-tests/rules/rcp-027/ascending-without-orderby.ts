import { firstExchange, walkWithEvents } from '../../checks/sampled-events.ts';
import { fail, pass, type Rule } from '../../rule.ts';

/** RCP-027, Producers and Consumers: the example has no $orderby and is in order. */
export const rule: Rule = {
  id: 'rcp-027/ascending-without-orderby',
  covers: ['RCP-027.10', 'RCP-027.14', 'RCP-027.20d', 'RCP-027.20h'],
  clause: 'Events come in the order in which they occurred without being asked for by $orderby.',
  level: 'MUST',
  modes: ['observe', 'full'],
  sends: 'GET /EntityEvent?$filter=EntityEventSequence gt 0, then each nextLink; no $orderby.',
  expects: 'On each page no number below the one before it.',
  async check(context) {
    const walk = await walkWithEvents(context);
    for (const page of walk.pages) {
      for (const [index, event] of page.events.entries()) {
        const before = page.events[index - 1];
        if (before === undefined || event.sequence >= before.sequence) continue;
        const reason = `${event.sequence} comes after ${before.sequence} on one page`;
        return fail(reason, 'Order EntityEvent by EntityEventSequence ascending by default.', [
          page.exchange,
        ]);
      }
    }
    return pass(`${walk.pages.length} pages are in ascending order`, firstExchange(walk));
  },
};
