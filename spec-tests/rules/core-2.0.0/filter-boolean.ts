import { fieldOfType, judgeFilters } from '../../checks/record-filter.ts';
import type { Rule } from '../../rule.ts';

/** Web API Core 2.0.0, 2.5.5 Boolean. */
export const rule: Rule = {
  id: 'core-2.0.0/filter-boolean',
  covers: ['CORE-2.0.0.10f'],
  clause: '$filter compares booleans by eq.',
  level: 'MUST',
  modes: ['observe', 'full'],
  sends: 'eq true and eq false on a boolean field of a record resource.',
  expects: 'Only rows that fulfil it, and all rows of the sample that do.',
  async check(context) {
    const { sample, field } = await fieldOfType(context, ['Edm.Boolean'], 'a boolean field');
    const cases = [true, false].map(value => ({
      filter: `${field.name} eq ${value}`,
      holds: (row: Record<string, unknown>) => row[field.name] === value,
    }));
    return judgeFilters(context, sample.resource, sample.rows, sample.type.keys[0], cases);
  },
};
