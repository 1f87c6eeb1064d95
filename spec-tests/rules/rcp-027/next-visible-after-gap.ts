import { ascending, walkWithEvents } from '../../checks/sampled-events.ts';
import { lowest } from '../../feed/event.ts';
import { readEvents } from '../../feed/read.ts';
import { fail, pass, type Rule, skip } from '../../rule.ts';

/** RCP-027, Entity Events, seventh item, and Consumers, Example: gaps are allowed. */
export const rule: Rule = {
  id: 'rcp-027/next-visible-after-gap',
  covers: ['RCP-027.7', 'RCP-027.14'],
  clause: 'Asking from a number that is absent or hidden returns the next visible event.',
  level: 'MUST',
  modes: ['observe', 'full'],
  sends: 'GET /EntityEvent?$filter=EntityEventSequence gt N, for an N that the walk did not meet.',
  expects: 'The first event after the gap.',
  async check(context) {
    const all = ascending(await walkWithEvents(context));
    const at = all.findIndex(
      (event, index) => index > 0 && event.sequence - (all[index - 1]?.sequence ?? 0n) > 1n,
    );
    const after = all[at];
    if (after === undefined) return skip('the walk met no gap in the numbers');
    const absent = after.sequence - 1n;
    const page = await readEvents(context.http, { $filter: `EntityEventSequence gt ${absent}` });
    if (lowest(page.events) === undefined) {
      const reason = `nothing came back for gt ${absent}, a number that is not in the log, though ${after.sequence} follows`;
      return fail(reason, 'Compare numbers; do not look up the number that was asked for.', [page.exchange]);
    }
    return pass(`${lowest(page.events)} came back for the absent ${absent}`, [page.exchange]);
  },
};
