import { comparisons, fieldOfType, judgeFilters, middleOf } from '../../checks/record-filter.ts';
import type { Json } from '../../http/exact-json.ts';
import type { Rule } from '../../rule.ts';

const order = (value: Json) => Date.parse(String(value));

/** Web API Core 2.0.0, 2.5.5 Timestamp comparison, with offsets other than Z. */
export const rule: Rule = {
  id: 'core-2.0.0/filter-timestamp',
  covers: ['CORE-2.0.0.10f', 'CORE-2.0.0.11b'],
  clause: '$filter compares timestamps, also where the literal has an offset.',
  level: 'MUST',
  modes: ['observe', 'full'],
  sends: 'ne, gt, ge, lt and le on a timestamp field, once in UTC and once with the offset -09:00.',
  expects: 'Only rows that fulfil it, and all rows of the sample that do.',
  async check(context) {
    const { sample, field, values } = await fieldOfType(context, ['Edm.DateTimeOffset'], 'a timestamp field');
    // Whole seconds: servers keep different fractions. `eq` is left out for the same reason.
    const at = Math.floor(order(middleOf(values, order)) / 1000) * 1000;
    const utc = new Date(at).toISOString().replace('.000Z', 'Z');
    const alaska = new Date(at - 9 * 3_600_000).toISOString().replace('.000Z', '-09:00');
    const operators = ['ne', 'gt', 'ge', 'lt', 'le'];
    const cases = [
      ...comparisons(field.name, utc, at, order, operators),
      ...comparisons(field.name, alaska, at, order, ['gt', 'le']),
    ];
    return judgeFilters(context, sample.resource, sample.rows, sample.type.keys[0], cases);
  },
};
