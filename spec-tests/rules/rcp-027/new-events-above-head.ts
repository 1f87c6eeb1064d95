import { fail, pass, type Rule, skip } from '../../rule.ts';

/** RCP-027, Entity Events, sixth item: monotonic. */
export const rule: Rule = {
  id: 'rcp-027/new-events-above-head',
  covers: ['RCP-027.6', 'RCP-027.11'],
  clause: 'A new event has a number above all that were served before it.',
  level: 'MUST',
  modes: ['full'],
  sends: 'Writes of canary records.',
  expects: 'Their events are numbered above the highest number known before the write.',
  async check(context) {
    const run = await context.canaries();
    const steps = [run.created, ...run.pair, run.updated, run.deleted];
    const below = steps.find(step => step.sighting.place === 'below');
    if (below !== undefined) {
      const { exchange, event } = below.sighting;
      const reason = `${below.what}: its event ${event?.sequence} lies below ${below.headBefore}, which had been served`;
      const remedy = 'Take numbers above the head, always; a reader that has passed never looks back.';
      return fail(reason, remedy, [below.write, ...(exchange === undefined ? [] : [exchange])]);
    }
    const above = steps.filter(step => step.sighting.place === 'above');
    if (above.length === 0) return skip('no event of a write was seen');
    return pass(`${above.length} events lie above the head of their time`);
  },
};
