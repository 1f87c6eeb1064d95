import { compares } from '../../checks/record-filter.ts';
import { judgeOnStretch, stretch } from '../../checks/sequence-filter.ts';
import type { Rule } from '../../rule.ts';

const operators = ['eq', 'ne', 'gt', 'ge', 'lt', 'le'];

/** Web API Core 2.0.0, 2.5.5 Integer comparison. */
export const rule: Rule = {
  id: 'core-2.0.0/filter-integer',
  covers: ['CORE-2.0.0.10f', 'CORE-2.0.0.10g'],
  clause: '$filter compares integers by eq, ne, gt, ge, lt and le.',
  level: 'MUST',
  modes: ['observe', 'full'],
  sends: 'Each operator on EntityEventSequence, within a short stretch of the log.',
  expects: 'Exactly the events that fulfil it.',
  async check(context) {
    const events = await stretch(context, 5);
    const middle = events[2]?.sequence ?? 0n;
    const from = events[0]?.sequence ?? 0n;
    const to = events.at(-1)?.sequence ?? 0n;
    // The bounds are wider than the stretch, so that a fault in ge or le shows in its own case only.
    const bounds = `EntityEventSequence gt ${from - 1n} and EntityEventSequence lt ${to + 1n}`;
    return judgeOnStretch(
      context,
      events,
      operators.map(operator => ({
        filter: `${bounds} and EntityEventSequence ${operator} ${middle}`,
        holds: event => compares(operator, event.sequence, middle),
      })),
    );
  },
};
