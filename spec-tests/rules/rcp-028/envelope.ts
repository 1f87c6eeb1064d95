import { everyDelivery } from '../../checks/deliveries.ts';
import { isObject } from '../../http/exact-json.ts';
import type { Rule } from '../../rule.ts';

/** RCP-028, Examples; RESO Common Format. */
export const rule: Rule = {
  id: 'rcp-028/envelope',
  covers: ['RCP-028.4', 'RCP-028.5'],
  clause:
    'The payload is RESO Common Format: a context that names EntityEvent, and one event or a value array.',
  level: 'MUST',
  modes: ['push'],
  sends: 'Subscriptions to a receiver of this run.',
  expects: '"@reso.context": "urn:reso:metadata:<version>:resource:entityevent"',
  check: context =>
    everyDelivery(
      context,
      each => {
        if (!isObject(each.body)) return 'a delivery is not a JSON object';
        const named = each.body['@reso.context'];
        if (typeof named !== 'string') return 'a delivery has no @reso.context';
        if (!/^urn:reso:metadata:[0-9.]+:resource:entityevent$/i.test(named))
          return `@reso.context is "${named}"`;
        return undefined;
      },
      'all in the envelope',
      'Wrap events as RESO Common Format does.',
    ),
};
