import { everyDelivery } from '../../checks/deliveries.ts';
import type { Rule } from '../../rule.ts';

/** RCP-028, Consumer Labels for EntityEvent Sources. */
export const rule: Rule = {
  id: 'rcp-028/entity-event-source',
  covers: ['RCP-028.12'],
  clause: "The consumer's label comes back in the EntityEventSource header.",
  level: 'SHOULD',
  modes: ['push'],
  sends: 'Subscriptions with an EntityEventSource.',
  expects: 'The same text in the header of each push.',
  check: context =>
    everyDelivery(
      context,
      (each, run) => {
        const label = each.headers.entityeventsource;
        if (label === undefined) return 'a delivery has no EntityEventSource header';
        return label === run.source ? undefined : `EntityEventSource is "${label}", not "${run.source}"`;
      },
      'all with the label',
      'Send the label that the consumer chose as EntityEventSource.',
    ),
};
