import { deliveryExchange } from '../../checks/deliveries.ts';
import { lostBetween } from '../../checks/refusals.ts';
import { fail, pass, type Rule, skip } from '../../rule.ts';

/** RCP-028, Polite Behavior, first and fourth item. */
export const rule: Rule = {
  id: 'rcp-028/delivers-again-after-failure',
  covers: ['RCP-028.7', 'RCP-028.10'],
  clause: 'A delivery that failed is made again.',
  level: 'SHOULD',
  modes: ['push'],
  sends: 'To the first delivery 500.',
  expects: 'The same events once more.',
  async check(context) {
    const [first, second] = (await context.push()).error.deliveries;
    if (first === undefined) return skip('nothing was delivered');
    const remedy = 'Retry what was answered 5xx, with growing pauses.';
    if (second === undefined) return fail('nothing came after a 500', remedy, [deliveryExchange(first)]);
    const evidence = [deliveryExchange(first), deliveryExchange(second)];
    const lost = lostBetween(first.events, second.events);
    if (lost !== undefined) return fail(`${lost} was answered 500 and not delivered again`, remedy, evidence);
    return pass('the failed delivery was made again', evidence);
  },
};
