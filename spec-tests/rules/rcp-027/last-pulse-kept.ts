import { laterEvent, readAgain } from '../../checks/second-reading.ts';
import { fail, pass, type Rule, skip } from '../../rule.ts';

const maxLookups = 20;

/** RCP-027, Entity Events, seventh item. */
export const rule: Rule = {
  id: 'rcp-027/last-pulse-kept',
  covers: ['RCP-027.7'],
  clause: 'A number may be hidden only when a later one remains for the same resource and key.',
  level: 'MUST',
  modes: ['observe', 'full'],
  sends: 'Stretches of the log a second time, and for each event that is gone a filter on its record.',
  expects: 'A later event for the record of each event that disappeared.',
  async check(context) {
    const { walk, before, now, exchanges } = await readAgain(context);
    const gone = before.filter(event => !now.has(event.sequence));
    if (gone.length === before.length)
      return skip('the second reading of the log brought nothing', exchanges);
    for (const event of gone.slice(0, maxLookups)) {
      const later = await laterEvent(context, walk, event);
      if (later.found) continue;
      const reason = `${event.sequence} (${event.resource} '${event.key}') is gone and no later event names its record`;
      return fail(reason, 'Compact forwards: drop an event only when a later one of the same key is kept.', [
        ...exchanges.slice(0, 2),
        ...later.exchanges,
      ]);
    }
    return pass(`${gone.length} of ${before.length} events are gone, each covered by a later one`, exchanges);
  },
};
