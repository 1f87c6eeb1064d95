import { fieldThat, judgeFilters } from '../../checks/record-filter.ts';
import { stringLiteral } from '../../http/address.ts';
import type { JsonObject } from '../../http/exact-json.ts';
import type { Rule } from '../../rule.ts';

/** Web API Core 2.0.0, 2.5.7: collections, any(). */
export const rule: Rule = {
  id: 'core-2.0.0/filter-any',
  covers: ['CORE-2.0.0.12b', 'CORE-2.1.0.7b'],
  clause: 'any() finds rows whose collection holds a value; an empty collection holds none.',
  level: 'MUST',
  modes: ['observe', 'full'],
  sends: "Field/any(x:x eq 'A') and, for two values, with or.",
  expects: 'Only rows that fulfil it, and all rows of the sample that do.',
  async check(context) {
    const picked = await fieldThat(
      context,
      field => field.isCollection && field.type === 'Edm.String',
      'a collection of strings',
    );
    const { sample, field, values } = picked;
    // The last item of the longest collection shows whether all items are looked at.
    const collections = values.map(value => (Array.isArray(value) ? value.map(String) : []));
    const longest = collections.sort((a, b) => b.length - a.length)[0] ?? [];
    const first = longest.at(-1) ?? '';
    const second = longest[0] ?? '';
    const held = (row: JsonObject) => {
      const value = row[field.name];
      return Array.isArray(value) ? value.map(String) : [];
    };
    const either = `x eq ${stringLiteral(first)} or x eq ${stringLiteral(second)}`;
    return judgeFilters(context, sample.resource, sample.rows, sample.type.keys[0], [
      {
        filter: `${field.name}/any(x:x eq ${stringLiteral(first)})`,
        holds: row => held(row).includes(first),
      },
      {
        filter: `${field.name}/any(x:${either})`,
        holds: row => held(row).includes(first) || held(row).includes(second),
      },
    ]);
  },
};
