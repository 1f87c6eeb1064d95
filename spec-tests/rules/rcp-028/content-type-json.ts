import { everyDelivery } from '../../checks/deliveries.ts';
import type { Rule } from '../../rule.ts';

/** RCP-028, Examples. */
export const rule: Rule = {
  id: 'rcp-028/content-type-json',
  covers: ['RCP-028.6'],
  clause: 'A push says that it is JSON.',
  level: 'MUST',
  modes: ['push'],
  sends: 'Subscriptions to a receiver of this run.',
  expects: 'Content-Type: application/json',
  check: context =>
    everyDelivery(
      context,
      each => {
        const type = each.headers['content-type'] ?? '';
        return /^application\/json\s*(;|$)/i.test(type)
          ? undefined
          : `a delivery has the content type "${type}"`;
      },
      'all application/json',
      'Send Content-Type: application/json.',
    ),
};
