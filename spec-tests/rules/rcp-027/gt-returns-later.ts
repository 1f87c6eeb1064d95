import { ascending, walkWithEvents } from '../../checks/sampled-events.ts';
import { readEvents } from '../../feed/read.ts';
import { fail, pass, type Rule, skip } from '../../rule.ts';

/** RCP-027, Consumers, Example. */
export const rule: Rule = {
  id: 'rcp-027/gt-returns-later',
  covers: ['RCP-027.14'],
  clause: 'EntityEventSequence gt N returns the events after N.',
  level: 'MUST',
  modes: ['observe', 'full'],
  sends: 'GET /EntityEvent?$filter=EntityEventSequence gt N, for an N in the middle of the log.',
  expects: 'Neither N itself nor anything below; first the number that follows N in the walk.',
  async check(context) {
    const all = ascending(await walkWithEvents(context));
    const at = Math.floor((all.length - 1) / 2);
    const from = all[at];
    const next = all[at + 1];
    if (from === undefined || next === undefined) return skip('the log holds fewer than two events');
    const page = await readEvents(context.http, { $filter: `EntityEventSequence gt ${from.sequence}` });
    const early = page.events.find(event => event.sequence <= from.sequence);
    if (early !== undefined) {
      const reason = `${early.sequence} came back for gt ${from.sequence}`;
      return fail(reason, 'Return only events with a greater number.', [page.exchange]);
    }
    if (page.events.length === 0) {
      const reason = `nothing came back for gt ${from.sequence}, though ${next.sequence} follows`;
      return fail(reason, 'Return the events after the number asked for.', [page.exchange]);
    }
    return pass(`only events after ${from.sequence} came back`, [page.exchange]);
  },
};
