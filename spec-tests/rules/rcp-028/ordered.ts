import { deliveryExchange } from '../../checks/deliveries.ts';
import { fail, pass, type Rule, skip } from '../../rule.ts';

/** RCP-027, Producers, kept on the way to the consumer. RCP-028 itself says nothing on order. */
export const rule: Rule = {
  id: 'rcp-028/ordered',
  covers: ['RCP-028.17'],
  clause: 'Events are pushed in the order of the log.',
  level: 'SHOULD',
  modes: ['push'],
  sends: 'A subscription whose deliveries are all answered 200.',
  expects: 'Rising numbers within and across deliveries.',
  async check(context) {
    const { deliveries } = (await context.push()).plain;
    if (deliveries.length === 0) return skip('nothing was delivered');
    let reached = -1n;
    for (const delivery of deliveries) {
      for (const { sequence } of delivery.events) {
        if (sequence < reached) {
          const remedy = 'Send the events of a subscription in order, one request after the other.';
          return fail(`${sequence} was pushed after ${reached}`, remedy, [deliveryExchange(delivery)]);
        }
        reached = sequence;
      }
    }
    return pass(`${deliveries.length} deliveries in order`, deliveries.slice(0, 1).map(deliveryExchange));
  },
};
