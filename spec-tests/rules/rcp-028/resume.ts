import { deliveryExchange } from '../../checks/deliveries.ts';
import { fail, pass, type Rule, skip } from '../../rule.ts';

/** RCP-028, Polite Behavior, fourth item. No address is laid down; `<subscription>/Resume` is tried. */
export const rule: Rule = {
  id: 'rcp-028/resume',
  covers: ['RCP-028.10'],
  clause: 'When the producer stopped the flow, a POST of the consumer resumes it where it stood.',
  level: 'SHOULD',
  modes: ['push'],
  sends:
    "401 to each delivery until nothing comes any more; then POST /EntityEventSubscription('id')/Resume.",
  expects: 'A 2xx answer, and the refused events.',
  async check(context) {
    const { deliveries, resumed } = (await context.push()).resume;
    const first = deliveries[0];
    if (first === undefined) return skip('nothing was delivered');
    if (resumed === undefined) return skip('the subscription has no address to resume at');
    const { exchange, deliveriesBefore } = resumed;
    const remedy = 'Offer a POST that resumes a stopped subscription from its cursor.';
    if (exchange.status < 200 || exchange.status > 299) {
      return fail(`the POST to resume answered HTTP ${exchange.status}`, remedy, [exchange]);
    }
    const next = deliveries[deliveriesBefore];
    if (next === undefined) return fail('nothing came after the POST to resume', remedy, [exchange]);
    const evidence = [exchange, deliveryExchange(next)];
    const refused = first.events[0]?.sequence;
    if (refused !== undefined && !next.events.some(event => event.sequence === refused)) {
      return fail(`the flow resumed without ${refused}, which had been refused`, remedy, evidence);
    }
    return pass('the flow resumed where it stood', evidence);
  },
};
