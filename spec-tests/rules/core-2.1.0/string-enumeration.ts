import { fieldThat, judgeTextField } from '../../checks/record-filter.ts';
import type { Rule } from '../../rule.ts';

/** Web API Core 2.1.0, String Comparison Operators, single-valued. */
export const rule: Rule = {
  id: 'core-2.1.0/string-enumeration',
  covers: ['CORE-2.1.0.7a'],
  clause: 'Lookups that are strings are compared by eq and ne.',
  level: 'MUST',
  modes: ['observe', 'full'],
  sends: 'eq and ne on a string field that names a lookup, with a value from the sample.',
  expects: 'Only rows that fulfil it, and all rows of the sample that do.',
  check: async context =>
    judgeTextField(
      context,
      await fieldThat(
        context,
        field => field.type === 'Edm.String' && !field.isCollection && field.lookupName !== undefined,
        'a string lookup',
      ),
    ),
};
