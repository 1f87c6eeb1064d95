import { deliveryExchange } from '../../checks/deliveries.ts';
import { lostBetween } from '../../checks/refusals.ts';
import { fail, pass, type Rule, skip } from '../../rule.ts';

/** RCP-028, Polite Behavior, second item. */
export const rule: Rule = {
  id: 'rcp-028/halts-on-429',
  covers: ['RCP-028.8'],
  clause: 'On 429 the producer halts; the refused events are not given up.',
  level: 'SHOULD',
  modes: ['push'],
  sends: 'To the first delivery 429 without Retry-After.',
  expects: 'The next request, if any comes in time, begins with the events that were refused.',
  async check(context) {
    const [first, second] = (await context.push()).halt.deliveries;
    if (first === undefined) return skip('nothing was delivered');
    if (second === undefined) return pass('the flow stopped after 429', [deliveryExchange(first)]);
    const evidence = [deliveryExchange(first), deliveryExchange(second)];
    const lost = lostBetween(first.events, second.events);
    if (lost !== undefined) {
      return fail(
        `after 429 the flow went on and left out ${lost}`,
        'Halt on 429, and resume with the refused events.',
        evidence,
      );
    }
    return pass('the refused events came again', evidence);
  },
};
