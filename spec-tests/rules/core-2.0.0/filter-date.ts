import { comparisons, fieldOfType, judgeFilters, middleOf } from '../../checks/record-filter.ts';
import type { Json } from '../../http/exact-json.ts';
import type { Rule } from '../../rule.ts';

const order = (value: Json) => Date.parse(String(value));

/** Web API Core 2.0.0, 2.5.5 Date comparison. */
export const rule: Rule = {
  id: 'core-2.0.0/filter-date',
  covers: ['CORE-2.0.0.10f'],
  clause: '$filter compares dates by eq, ne, gt, ge, lt and le.',
  level: 'MUST',
  modes: ['observe', 'full'],
  sends: 'Each operator on a date field of a record resource, with a value from the sample.',
  expects: 'Only rows that fulfil it, and all rows of the sample that do.',
  async check(context) {
    const { sample, field, values } = await fieldOfType(context, ['Edm.Date'], 'a date field');
    const value = middleOf(values, order);
    const cases = comparisons(field.name, String(value), order(value), order);
    return judgeFilters(context, sample.resource, sample.rows, sample.type.keys[0], cases);
  },
};
