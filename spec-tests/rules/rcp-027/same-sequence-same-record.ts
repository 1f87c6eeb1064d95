import { eventPath } from '../../canary/canary-writer.ts';
import { ascending, spread } from '../../checks/sampled-events.ts';
import { readAgain } from '../../checks/second-reading.ts';
import { eventOf, type FeedEvent, recordId } from '../../feed/event.ts';
import { isObject } from '../../http/exact-json.ts';
import { jsonOf } from '../../http/exchange.ts';
import { fail, pass, type Rule } from '../../rule.ts';

const remedy = 'Never write to an event again: a number belongs to one record for ever.';

/** RCP-027, Producers; Certification, last item. */
export const rule: Rule = {
  id: 'rcp-027/same-sequence-same-record',
  covers: ['RCP-027.6', 'RCP-027.12', 'RCP-027.20i'],
  clause: 'Asking for the same EntityEventSequence gives the same ResourceName and ResourceRecordKey.',
  level: 'MUST',
  modes: ['observe', 'full'],
  sends: 'Stretches of the log a second time, and single events by GET /EntityEvent(number).',
  expects: 'The record that was named at first, or no event any more.',
  async check(context) {
    const { walk, before, now, exchanges } = await readAgain(context);
    for (const event of before) {
      const again = now.get(event.sequence);
      if (again !== undefined && recordId(again) !== recordId(event)) return changed(event, again, exchanges);
    }
    for (const event of spread(ascending(walk), 5)) {
      const exchange = await context.http.send(eventPath(event.sequence));
      const body = jsonOf(exchange);
      const again = exchange.status === 200 && isObject(body) ? eventOf(body) : undefined;
      if (again?.sequence === event.sequence && recordId(again) !== recordId(event)) {
        return changed(event, again, [exchange]);
      }
    }
    return pass(`${before.length} events read twice name the same records`, exchanges);
  },
};

function changed(first: FeedEvent, second: FeedEvent, exchanges: Parameters<typeof fail>[2]) {
  const was = `${first.resource} '${first.key}'`;
  return fail(
    `${first.sequence} was ${was} and is now ${second.resource} '${second.key}'`,
    remedy,
    exchanges,
  );
}
