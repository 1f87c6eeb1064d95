import { walkWithEvents } from '../../checks/sampled-events.ts';
import { lowest } from '../../feed/event.ts';
import { readEvents } from '../../feed/read.ts';
import { fail, pass, type Rule, skip } from '../../rule.ts';

/** RCP-027, Initial Synchronization, Example. */
export const rule: Rule = {
  id: 'rcp-027/init-ge-0',
  covers: ['RCP-027.15'],
  clause: 'EntityEventSequence ge 0 starts at the first event that the consumer has access to.',
  level: 'MUST',
  modes: ['observe', 'full'],
  sends: 'GET /EntityEvent?$filter=EntityEventSequence ge 0',
  expects: 'A page that begins at the lowest number that any reading has met.',
  async check(context) {
    const walk = await walkWithEvents(context);
    const first = lowest(walk.events);
    const page = await readEvents(context.http, { $filter: 'EntityEventSequence ge 0' });
    const start = lowest(page.events);
    if (first === undefined) return skip('the log is empty');
    if (start === undefined || start > first) {
      const reason = `ge 0 begins at ${start ?? 'nothing'}, though ${first} is there`;
      return fail(reason, 'Begin at the first visible event when ge 0 is asked for.', [page.exchange]);
    }
    return pass(`ge 0 begins at ${start}`, [page.exchange]);
  },
};
