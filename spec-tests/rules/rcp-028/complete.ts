import { listed } from '../../checks/sampled-events.ts';
import { fail, pass, type Rule, skip } from '../../rule.ts';

/** RCP-028, Proposal: push replaces polling, so nothing may be left out. */
export const rule: Rule = {
  id: 'rcp-028/complete',
  covers: ['RCP-028.1', 'RCP-028.17'],
  clause: 'Every event after the start of a subscription is pushed.',
  level: 'SHOULD',
  modes: ['push'],
  sends: 'A subscription that begins shortly before the head.',
  expects: 'All events that the log holds after it, or a later one of the same record.',
  async check(context) {
    const run = await context.push();
    const { deliveries, subscription } = run.plain;
    if (run.expected === undefined) return skip('the log cannot be read');
    const events = deliveries.flatMap(each => each.events);
    const got = new Set(events.map(event => event.sequence));
    const missing = run.expected.filter(
      event =>
        !got.has(event.sequence) &&
        !events.some(
          each =>
            each.resource === event.resource && each.key === event.key && each.sequence > event.sequence,
        ),
    );
    if (missing.length === 0) return pass(`${run.expected.length} events arrived`);
    const reason = `${missing.length} of ${run.expected.length} events did not arrive: ${listed(missing.map(each => each.sequence))}`;
    return fail(reason, 'Keep a cursor for each subscription, and move it only past what was answered 2xx.', [
      subscription.exchange,
    ]);
  },
};
