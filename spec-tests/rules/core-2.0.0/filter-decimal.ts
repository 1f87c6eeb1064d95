import { comparisons, fieldOfType, judgeFilters, middleOf } from '../../checks/record-filter.ts';
import type { Rule } from '../../rule.ts';

/** Web API Core 2.0.0, 2.5.5 Decimal comparison. */
export const rule: Rule = {
  id: 'core-2.0.0/filter-decimal',
  covers: ['CORE-2.0.0.10f'],
  clause: '$filter compares decimals by eq, ne, gt, ge, lt and le.',
  level: 'MUST',
  modes: ['observe', 'full'],
  sends: 'Each operator on a decimal field of a record resource, with a value from the sample.',
  expects: 'Only rows that fulfil it, and all rows of the sample that do.',
  async check(context) {
    const picked = await fieldOfType(context, ['Edm.Decimal', 'Edm.Double'], 'a decimal field');
    const { sample, field, values } = picked;
    const value = Number(middleOf(values, Number));
    const cases = comparisons(field.name, String(value), value, Number);
    return judgeFilters(context, sample.resource, sample.rows, sample.type.keys[0], cases);
  },
};
