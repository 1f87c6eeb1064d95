import { fail, pass, type Rule } from '../../rule.ts';

/** RCP-027, Entity Events: immutable; Synopsis: an append-only log. */
export const rule: Rule = {
  id: 'rcp-027/log-read-only',
  covers: ['RCP-027.6', 'RCP-027.12'],
  clause: 'Consumers cannot write into the log.',
  level: 'MUST',
  modes: ['full'],
  sends: "POST to EntityEvent; PATCH and DELETE of the canary's own event.",
  expects: 'A refusal, for instance 405.',
  async check(context) {
    const { logWrites } = await context.canaries();
    const taken = logWrites.find(each => each.status < 400);
    if (taken === undefined) return pass('each attempt was refused', logWrites);
    const remedy = 'Answer 405 to every method but GET and HEAD on EntityEvent.';
    return fail(`${taken.method} on the log answers HTTP ${taken.status}`, remedy, [taken]);
  },
};
