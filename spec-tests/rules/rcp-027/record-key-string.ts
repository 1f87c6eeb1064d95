import { everyRow } from '../../checks/pages-with.ts';
import type { Rule } from '../../rule.ts';

/** RCP-027, Entity Events, fifth item. */
export const rule: Rule = {
  id: 'rcp-027/record-key-string',
  covers: ['RCP-027.5'],
  clause: 'ResourceRecordKey is a string, also where the key of the record is a number.',
  level: 'MUST',
  modes: ['observe', 'full'],
  sends: 'The walk of the log.',
  expects: 'A non-empty JSON string of at most 255 characters.',
  check: context =>
    everyRow(
      context,
      row => {
        const value = row.ResourceRecordKey;
        if (value === undefined || value === null) return undefined;
        if (typeof value !== 'string') return `ResourceRecordKey is ${String(value)}, not a string`;
        return value === '' || value.length > 255
          ? `ResourceRecordKey has ${value.length} characters`
          : undefined;
      },
      'every ResourceRecordKey is a string',
      'Write keys as strings: "539", not 539.',
    ),
};
