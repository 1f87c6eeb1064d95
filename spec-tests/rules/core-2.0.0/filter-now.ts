import { comparisons, fieldOfType, judgeFilters } from '../../checks/record-filter.ts';
import type { Json } from '../../http/exact-json.ts';
import type { Rule } from '../../rule.ts';

const order = (value: Json) => Date.parse(String(value));

/** Web API Core 2.0.0, 2.5.5: now(). */
export const rule: Rule = {
  id: 'core-2.0.0/filter-now',
  covers: ['CORE-2.0.0.11a'],
  clause: '$filter compares timestamps with now() by ne, lt and le.',
  level: 'MUST',
  modes: ['observe', 'full'],
  sends: 'Each of the three operators with now() on a timestamp field.',
  expects: 'The rows of the sample, which lie in the past.',
  async check(context) {
    const { sample, field } = await fieldOfType(context, ['Edm.DateTimeOffset'], 'a timestamp field');
    const cases = comparisons(field.name, 'now()', context.clock.now(), order, ['ne', 'lt', 'le']);
    return judgeFilters(context, sample.resource, sample.rows, sample.type.keys[0], cases);
  },
};
