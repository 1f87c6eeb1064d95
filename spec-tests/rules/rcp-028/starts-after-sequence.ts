import { allDeliveries, deliveryExchange } from '../../checks/deliveries.ts';
import { fail, pass, type Rule } from '../../rule.ts';

/** RCP-049 (proposal), EntityEventSequence of a subscription: the last one received. */
export const rule: Rule = {
  id: 'rcp-028/starts-after-sequence',
  covers: ['RCP-028.16'],
  clause: 'A subscription begins after the EntityEventSequence that it names.',
  level: 'SHOULD',
  modes: ['push'],
  sends: 'Subscriptions that begin shortly before the head.',
  expects: 'No event at or below the number named.',
  async check(context) {
    const run = await context.push();
    for (const delivery of allDeliveries(run)) {
      const early = delivery.events.find(event => event.sequence <= run.startAfter);
      if (early === undefined) continue;
      const reason = `${early.sequence} was pushed to a subscription that begins after ${run.startAfter}`;
      return fail(reason, 'Push only what comes after the named number.', [deliveryExchange(delivery)]);
    }
    return pass(`everything pushed comes after ${run.startAfter}`);
  },
};
