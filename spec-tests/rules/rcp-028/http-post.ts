import { everyDelivery } from '../../checks/deliveries.ts';
import type { Rule } from '../../rule.ts';

/** RCP-028, Requirements, third item. */
export const rule: Rule = {
  id: 'rcp-028/http-post',
  covers: ['RCP-028.1', 'RCP-028.4'],
  clause: 'Events are pushed by HTTP POST.',
  level: 'MUST',
  modes: ['push'],
  sends: 'Subscriptions to a receiver of this run.',
  expects: 'POST requests.',
  check: context =>
    everyDelivery(
      context,
      each => (each.method === 'POST' ? undefined : `a delivery came by ${each.method}`),
      'all by POST',
      'Push by POST.',
    ),
};
