import { allDeliveries, deliveryExchange } from '../../checks/deliveries.ts';
import { recordId } from '../../feed/event.ts';
import { fail, pass, type Rule, skip } from '../../rule.ts';

/** RCP-028, Proposal: what is pushed has been published to the EntityEvent resource. */
export const rule: Rule = {
  id: 'rcp-028/matches-feed',
  covers: ['RCP-028.1', 'RCP-028.4'],
  clause: 'A pushed event is the event that EntityEvent has under its number.',
  level: 'MUST',
  modes: ['push'],
  sends: 'Subscriptions, and the same stretch of the log.',
  expects: 'The same record for each number.',
  async check(context) {
    const run = await context.push();
    const deliveries = allDeliveries(run);
    if (run.expected === undefined) return skip('the log cannot be read');
    const published = new Map(run.expected.map(event => [event.sequence, event]));
    for (const delivery of deliveries) {
      for (const event of delivery.events) {
        const known = published.get(event.sequence);
        if (known === undefined || recordId(known) === recordId(event)) continue;
        const reason = `${event.sequence} was pushed as ${event.resource} '${event.key}', but the log has ${known.resource} '${known.key}'`;
        return fail(reason, 'Push what the log holds.', [deliveryExchange(delivery)]);
      }
    }
    return pass('what was pushed stands in the log', deliveries.slice(0, 1).map(deliveryExchange));
  },
};
