import { everyRow } from '../../checks/pages-with.ts';
import type { Rule } from '../../rule.ts';

/** RCP-027, Entity Events, fourth item. */
export const rule: Rule = {
  id: 'rcp-027/resource-name-string',
  covers: ['RCP-027.4'],
  clause: 'ResourceName is a string.',
  level: 'MUST',
  modes: ['observe', 'full'],
  sends: 'The walk of the log.',
  expects: 'A non-empty JSON string of at most 255 characters.',
  check: context =>
    everyRow(
      context,
      row => {
        const value = row.ResourceName;
        if (value === undefined || value === null) return undefined;
        if (typeof value !== 'string') return `ResourceName is ${String(value)}, not a string`;
        return value === '' || value.length > 255 ? `ResourceName has ${value.length} characters` : undefined;
      },
      'every ResourceName is a string',
      'Write the name of the resource as a string.',
    ),
};
