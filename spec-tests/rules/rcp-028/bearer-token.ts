import { everyDelivery } from '../../checks/deliveries.ts';
import type { Rule } from '../../rule.ts';

/** RCP-028, Requirements, second and third item. */
export const rule: Rule = {
  id: 'rcp-028/bearer-token',
  covers: ['RCP-028.3', 'RCP-028.4', 'RCP-028.13'],
  clause: 'Each push carries the bearer token that the consumer gave.',
  level: 'MUST',
  modes: ['push'],
  sends: 'A credential with a bearer token, and subscriptions that name it.',
  expects: 'Authorization: Bearer with that token on each request.',
  check: context =>
    everyDelivery(
      context,
      (each, run) => {
        const given = each.headers.authorization;
        if (given === undefined) return 'a delivery has no Authorization header';
        return given === `Bearer ${run.token}`
          ? undefined
          : 'a delivery carries another token than the one given';
      },
      'all with the token',
      "Send the consumer's token as Authorization: Bearer.",
    ),
};
