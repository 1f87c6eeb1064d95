import { numberAbove } from '../../canary/follower.ts';
import { fail, pass, type Rule, skip } from '../../rule.ts';

/** RCP-027, Producers. */
export const rule: Rule = {
  id: 'rcp-027/logical-order',
  covers: ['RCP-027.10'],
  clause: 'Events have the order in which their changes occurred.',
  level: 'MUST',
  modes: ['full'],
  sends: 'Two POSTs of canary records, the second after the answer to the first.',
  expects: 'The event of the first has the lower number.',
  async check(context) {
    const [earlier, later] = (await context.canaries()).pair;
    const first = numberAbove(earlier.sighting);
    const second = numberAbove(later.sighting);
    if (first === undefined || second === undefined)
      return skip('the events of the two writes were not both seen');
    const evidence = [earlier.write, later.write];
    if (first > second) {
      const reason = `${earlier.what} has ${first}, and ${later.what}, which was written after it, has ${second}`;
      return fail(reason, 'Number changes in the order of their commits.', evidence);
    }
    return pass(`${first} comes before ${second}`, evidence);
  },
};
