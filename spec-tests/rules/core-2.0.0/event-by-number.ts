import { eventPath } from '../../canary/canary-writer.ts';
import { ascending, walkWithEvents } from '../../checks/sampled-events.ts';
import { isObject } from '../../http/exact-json.ts';
import { jsonOf } from '../../http/exchange.ts';
import { integerOf } from '../../http/page.ts';
import { fail, pass, type Rule, skip } from '../../rule.ts';

/** Web API Core 2.0.0, 2.5.3: Resource(123) for numeric keys; OData URL Conventions 4.3.1. */
export const rule: Rule = {
  id: 'core-2.0.0/event-by-number',
  covers: ['CORE-2.0.0.7b'],
  clause: 'An event can be fetched by its number, EntityEvent(101).',
  level: 'MUST',
  modes: ['observe', 'full'],
  sends: 'GET /EntityEvent(number), for the last number of the walk.',
  expects: 'HTTP 200 and the event at the top level.',
  async check(context) {
    const event = ascending(await walkWithEvents(context)).at(-1);
    if (event === undefined) return skip('the log is empty');
    const exchange = await context.http.send(eventPath(event.sequence));
    const body = jsonOf(exchange);
    const isThere = isObject(body) && integerOf(body.EntityEventSequence) !== undefined;
    if (exchange.status === 200 && isThere) return pass(`event ${event.sequence} came back`, [exchange]);
    return fail(
      `HTTP ${exchange.status} without event ${event.sequence} at the top level`,
      'Serve events by their key.',
      [exchange],
    );
  },
};
