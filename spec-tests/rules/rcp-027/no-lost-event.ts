import { listed } from '../../checks/sampled-events.ts';
import { fail, pass, type Rule, skip } from '../../rule.ts';
import { unseen } from '../../stress/stress-run.ts';

/** RCP-027, Producers, under concurrent writers. */
export const rule: Rule = {
  id: 'rcp-027/no-lost-event',
  covers: ['RCP-027.21'],
  clause: 'No change is lost while several clients write at the same time.',
  level: 'MUST',
  modes: ['stress'],
  sends: 'POST and PATCH of canaries from several writers at once.',
  expects: 'For each write an event above the head of its time.',
  async check(context) {
    const run = await context.stress();
    if (run.writes.length === 0) return skip('nothing was written');
    const lost = unseen(run.writes, [...run.afterwards, ...run.readers.flatMap(reader => reader.events)]);
    if (lost.length > 0) {
      const reason = `${lost.length} of ${run.writes.length} writes have no event: ${listed(lost.map(each => each.key))}`;
      const remedy =
        'Write the event in the transaction of the change, and fold only into a later event of the same key.';
      return fail(reason, remedy, [...lost.slice(0, 1).map(each => each.write), ...run.exchanges]);
    }
    return pass(`${run.writes.length} writes, each with its event`, run.exchanges);
  },
};
