import { fieldThat, judgeFilters } from '../../checks/record-filter.ts';
import type { Rule } from '../../rule.ts';

/** Web API Core 2.0.0, 2.5.6: single-valued Edm.EnumType. */
export const rule: Rule = {
  id: 'core-2.0.0/filter-enum',
  covers: ['CORE-2.0.0.12a'],
  clause: '$filter compares enumerations by has, eq and ne with their qualified literals.',
  level: 'MUST',
  modes: ['observe', 'full'],
  sends: "has, eq and ne Namespace.Type'Member' on an enumeration field of a record resource.",
  expects: 'Only rows that fulfil it, and all rows of the sample that do.',
  async check(context) {
    const { enums } = await context.service();
    const picked = await fieldThat(
      context,
      field => enums.has(field.type) && !field.isCollection,
      'an Edm.EnumType field',
    );
    const { sample, field, values } = picked;
    const value = String(values[0]);
    const cases = ['has', 'eq', 'ne'].map(operator => ({
      filter: `${field.name} ${operator} ${field.type}'${value}'`,
      holds: (row: Record<string, unknown>) => (row[field.name] === value) === (operator !== 'ne'),
    }));
    return judgeFilters(context, sample.resource, sample.rows, sample.type.keys[0], cases);
  },
};
