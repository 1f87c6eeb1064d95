import { everyRow } from '../../checks/pages-with.ts';
import type { Rule } from '../../rule.ts';

const max = 2n ** 63n - 1n;

/** RCP-027, Entity Events, third item. */
export const rule: Rule = {
  id: 'rcp-027/sequence-is-int64',
  covers: ['RCP-027.3'],
  clause: 'EntityEventSequence is a number in the positive part of int64.',
  level: 'MUST',
  modes: ['observe', 'full'],
  sends: 'The walk of the log.',
  expects:
    'A JSON integer between 0 and 9223372036854775807 (0 is let pass, since the text allows a first event 0).',
  check: context =>
    everyRow(
      context,
      row => {
        const value = row.EntityEventSequence;
        if (value === undefined || value === null) return undefined;
        if (typeof value !== 'bigint')
          return `EntityEventSequence is ${JSON.stringify(value)}, not a JSON integer`;
        return value < 0n || value > max
          ? `EntityEventSequence ${value} is outside the positive int64`
          : undefined;
      },
      'every sequence is a positive int64',
      'Write EntityEventSequence as a JSON number without fraction (a string only under IEEE754Compatible=true).',
    ),
};
