import { fieldThat, judgeFilters } from '../../checks/record-filter.ts';
import { stringLiteral } from '../../http/address.ts';
import type { Rule } from '../../rule.ts';

/** Web API Core 2.0.0, 2.5.7: collections, all(). */
export const rule: Rule = {
  id: 'core-2.0.0/filter-all',
  covers: ['CORE-2.0.0.12c', 'CORE-2.1.0.7b'],
  clause: 'all() finds rows whose collection holds nothing else; an empty collection fulfils it.',
  level: 'MUST',
  modes: ['observe', 'full'],
  sends: "Field/all(x:x eq 'A')",
  expects: 'Rows that hold nothing but A, rows with an empty collection among them.',
  async check(context) {
    const picked = await fieldThat(
      context,
      field => field.isCollection && field.type === 'Edm.String',
      'a collection of strings',
    );
    const { sample, field, values } = picked;
    const first = values.flatMap(value => (Array.isArray(value) ? value.map(String) : []))[0] ?? 'none';
    return judgeFilters(context, sample.resource, sample.rows, sample.type.keys[0], [
      {
        filter: `${field.name}/all(x:x eq ${stringLiteral(first)})`,
        holds: row => {
          const value = row[field.name];
          return !Array.isArray(value) || value.every(each => String(each) === first);
        },
      },
    ]);
  },
};
