import { judgeOnStretch, stretch } from '../../checks/sequence-filter.ts';
import type { Rule } from '../../rule.ts';

/** OData URL Conventions 5.1.1.17, Operator Precedence. */
export const rule: Rule = {
  id: 'odata-4.01/filter-precedence',
  covers: ['ODATA.filter', 'CORE-2.0.0.10g'],
  clause: 'not binds tighter than and, and tighter than or; parentheses go before all.',
  level: 'MUST',
  modes: ['observe', 'full'],
  sends: 'a or b and c, and (a or b) and c, on a short stretch of the log.',
  expects: 'Exactly the events that fulfil them.',
  async check(context) {
    const events = await stretch(context, 5);
    const [a, b] = events.map(event => `EntityEventSequence eq ${event.sequence}`);
    const [first, second] = events.map(event => event.sequence);
    const never = 'EntityEventSequence lt 0';
    return judgeOnStretch(context, events, [
      { filter: `${a} or ${b} and ${never}`, holds: event => event.sequence === first },
      { filter: `(${a} or ${b}) and ${never}`, holds: () => false },
      {
        filter: `${never} and ${a} or ${b}`,
        holds: event => event.sequence === second,
      },
    ]);
  },
};
