import { highest } from '../../feed/event.ts';
import { readEvents } from '../../feed/read.ts';
import { fail, pass, type Rule, skip } from '../../rule.ts';

const remedy = 'Sort by $orderby, ascending by default and descending with desc.';

/** Web API Core 2.0.0, 2.5.4 $orderby. */
export const rule: Rule = {
  id: 'core-2.0.0/orderby',
  covers: ['CORE-2.0.0.10e'],
  clause: '$orderby sorts in either direction.',
  level: 'MUST',
  modes: ['observe', 'full'],
  sends: 'GET /EntityEvent?$orderby=EntityEventSequence desc&$top=10 and the same with asc.',
  expects: 'Falling numbers from the head, and rising numbers.',
  async check(context) {
    const down = await readEvents(context.http, { $orderby: 'EntityEventSequence desc', $top: 10 });
    const up = await readEvents(context.http, { $orderby: 'EntityEventSequence asc', $top: 10 });
    if (down.events.length < 2) return skip('the log holds fewer than two events', [down.exchange]);
    const evidence = [down.exchange, up.exchange];
    const falls = down.events.every(
      (event, at) => at === 0 || event.sequence < (down.events[at - 1]?.sequence ?? 0n),
    );
    const rises = up.events.every(
      (event, at) => at === 0 || event.sequence > (up.events[at - 1]?.sequence ?? 0n),
    );
    if (!falls || !rises) return fail(`${falls ? 'asc' : 'desc'} is not in order`, remedy, evidence);
    const top = highest(up.events) ?? 0n;
    if ((down.events[0]?.sequence ?? 0n) < top)
      return fail('desc does not begin at the head', remedy, evidence);
    return pass('desc falls and asc rises', evidence);
  },
};
