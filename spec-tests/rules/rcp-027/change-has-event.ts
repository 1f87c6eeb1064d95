import type { CanaryStep } from '../../canary/canary-run.ts';
import { fail, pass, type Rule } from '../../rule.ts';

/** RCP-027, Synopsis and Producers: the log is the stream of what was created, updated and deleted. */
export const rule: Rule = {
  id: 'rcp-027/change-has-event',
  covers: ['RCP-027.1', 'RCP-027.21'],
  clause: 'Every creation, update and deletion of a record is followed by an event for it.',
  level: 'MUST',
  modes: ['full'],
  sends: 'POST, PATCH and DELETE of a canary record, then gt N until its event is there.',
  expects: 'An event for each of the writes within the waiting time.',
  async check(context) {
    const run = await context.canaries();
    const steps: CanaryStep[] = [run.created, ...run.pair, run.updated, run.deleted];
    const silent = steps.find(step => step.sighting.place === 'nowhere');
    if (silent !== undefined) {
      const seconds = Math.round(context.settings.canary.waitMs / 1000);
      const remedy =
        'Write the event in the transaction of the change itself (an outbox), for every way of changing a record.';
      const exchange = silent.sighting.exchange;
      return fail(`no event within ${seconds} s after: ${silent.what}`, remedy, [
        silent.write,
        ...(exchange === undefined ? [] : [exchange]),
      ]);
    }
    return pass(
      `${steps.length} writes had their events`,
      steps.map(step => step.write),
    );
  },
};
