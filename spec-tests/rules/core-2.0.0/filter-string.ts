import { judgeOnStretch, stretch } from '../../checks/sequence-filter.ts';
import { stringLiteral } from '../../http/address.ts';
import type { Rule } from '../../rule.ts';

/** Web API Core 2.0.0, 2.4: strings in $filter. */
export const rule: Rule = {
  id: 'core-2.0.0/filter-string',
  covers: ['CORE-2.0.0.10f'],
  clause: '$filter compares strings by eq and ne.',
  level: 'MUST',
  modes: ['observe', 'full'],
  sends: 'ResourceName eq and ne, on a short stretch of the log.',
  expects: 'Exactly the events that fulfil them.',
  async check(context) {
    const events = await stretch(context, 5);
    const name = events[0]?.resource ?? '';
    const to = events.at(-1)?.sequence ?? 0n;
    const within = `EntityEventSequence gt ${(events[0]?.sequence ?? 0n) - 1n} and EntityEventSequence lt ${to + 1n}`;
    return judgeOnStretch(context, events, [
      {
        filter: `${within} and ResourceName eq ${stringLiteral(name)}`,
        holds: event => event.resource === name,
      },
      {
        filter: `${within} and ResourceName ne ${stringLiteral(name)}`,
        holds: event => event.resource !== name,
      },
    ]);
  },
};
