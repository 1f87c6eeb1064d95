import { everyRow } from '../../checks/pages-with.ts';
import type { Rule } from '../../rule.ts';

const names = ['EntityEventSequence', 'ResourceName', 'ResourceRecordKey'];

/** RCP-027, Entity Events, second item. */
export const rule: Rule = {
  id: 'rcp-027/required-fields',
  covers: ['RCP-027.2'],
  clause: 'Each record has EntityEventSequence, ResourceName and ResourceRecordKey.',
  level: 'MUST',
  modes: ['observe', 'full'],
  sends: 'The walk of the log.',
  expects: 'The three fields in each row, none of them null.',
  check: context =>
    everyRow(
      context,
      row => {
        const absent = names.filter(name => row[name] === undefined || row[name] === null);
        return absent.length === 0 ? undefined : `${absent.join(' and ')} is missing or null`;
      },
      'all three fields are there',
      'Return the three required fields with a value in every row.',
    ),
};
