import { fail, pass, type Rule } from '../../rule.ts';

/** RCP-049 (proposal), EntityEventSubscription; OData Protocol 11.4.2, Create an Entity. */
export const rule: Rule = {
  id: 'rcp-028/subscription-created',
  covers: ['RCP-028.16'],
  clause: 'A new EntityEventSubscription answers 201 with its Location and OData-EntityId.',
  level: 'SHOULD',
  modes: ['push'],
  sends: 'POST /EntityEventSubscription with sequence, callback and credential.',
  expects: 'HTTP 201 and both headers.',
  async check(context) {
    const { exchange } = (await context.push()).plain.subscription;
    const absent = ['location', 'odata-entityid'].filter(name => exchange.headers[name] === undefined);
    if (exchange.status === 201 && absent.length === 0) return pass('created, with its address', [exchange]);
    const reason =
      absent.length === 0 ? `HTTP ${exchange.status} instead of 201` : `no ${absent.join(' and no ')} header`;
    return fail(reason, 'Answer 201 with Location and OData-EntityId.', [exchange]);
  },
};
