import { judgeOnStretch, stretch } from '../../checks/sequence-filter.ts';
import type { Rule } from '../../rule.ts';

/** Web API Core 2.0.0, 2.5.5: and, or, not. */
export const rule: Rule = {
  id: 'core-2.0.0/filter-logic',
  covers: ['CORE-2.0.0.10g'],
  clause: '$filter joins comparisons by and, or and not.',
  level: 'MUST',
  modes: ['observe', 'full'],
  sends: 'Two eq joined by or, two joined by and, and one inside not(), on a short stretch of the log.',
  expects: 'Exactly the events that fulfil them.',
  async check(context) {
    const events = await stretch(context, 5);
    const [a, b, c] = events.map(event => event.sequence);
    const to = events.at(-1)?.sequence ?? 0n;
    const within = `EntityEventSequence gt ${(a ?? 0n) - 1n} and EntityEventSequence lt ${to + 1n}`;
    return judgeOnStretch(context, events, [
      {
        filter: `EntityEventSequence eq ${a} or EntityEventSequence eq ${c}`,
        holds: event => event.sequence === a || event.sequence === c,
      },
      { filter: `EntityEventSequence eq ${a} and EntityEventSequence eq ${c}`, holds: () => false },
      { filter: `${within} and not (EntityEventSequence eq ${b})`, holds: event => event.sequence !== b },
    ]);
  },
};
