import { firstExchange, walkWithEvents } from '../../checks/sampled-events.ts';
import { fail, pass, type Rule } from '../../rule.ts';

/** RCP-027, Producers. */
export const rule: Rule = {
  id: 'rcp-027/sequence-unique',
  covers: ['RCP-027.2', 'RCP-027.11'],
  clause: 'Every EntityEventSequence is unique.',
  level: 'MUST',
  modes: ['observe', 'full'],
  sends: 'The walk of the log.',
  expects: 'No number is served twice in one walk.',
  async check(context) {
    const walk = await walkWithEvents(context);
    const seen = new Set<bigint>();
    for (const page of walk.pages) {
      for (const event of page.events) {
        if (seen.has(event.sequence)) {
          const reason = `${event.sequence} was served twice`;
          return fail(reason, 'Give each event its own number, and serve it once in a walk.', [
            page.exchange,
          ]);
        }
        seen.add(event.sequence);
      }
    }
    return pass(`${seen.size} numbers, none of them twice`, firstExchange(walk));
  },
};
