import { eventPath } from '../../canary/canary-writer.ts';
import { ascending, walkWithEvents } from '../../checks/sampled-events.ts';
import { fail, pass, type Rule, skip } from '../../rule.ts';

/** Web API Core 2.1.0, URI Conventions: only string keys are shown; RESO's own tools quote every key. */
export const rule: Rule = {
  id: 'rcp-027/quoted-sequence-key',
  covers: ['CORE-2.1.0.10'],
  clause: "EntityEvent('101') is accepted besides EntityEvent(101), since clients quote every key.",
  level: 'SHOULD',
  modes: ['observe', 'full'],
  sends: "GET /EntityEvent('number')",
  expects: 'HTTP 200 with the event.',
  async check(context) {
    const event = ascending(await walkWithEvents(context)).at(-1);
    if (event === undefined) return skip('the log is empty');
    const exchange = await context.http.send(eventPath(event.sequence, true));
    if (exchange.status === 200) return pass('the quoted number is accepted', [exchange]);
    const remedy = 'Accept the quoted form of a numeric key; strict OData has only the plain one.';
    return fail(`HTTP ${exchange.status} for a quoted number`, remedy, [exchange]);
  },
};
