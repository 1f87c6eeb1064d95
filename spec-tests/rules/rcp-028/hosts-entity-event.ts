import { readEvents } from '../../feed/read.ts';
import { fail, pass, type Rule, Violation } from '../../rule.ts';

/** RCP-028, Compatibility. */
export const rule: Rule = {
  id: 'rcp-028/hosts-entity-event',
  covers: ['RCP-028.14'],
  clause: 'Whoever pushes events also hosts the EntityEvent resource, so that they can be replayed.',
  level: 'SHOULD',
  modes: ['push'],
  sends: 'GET /EntityEvent?$filter=EntityEventSequence gt 0',
  expects: 'A page of events.',
  async check(context) {
    try {
      const page = await readEvents(context.http, { $filter: 'EntityEventSequence gt 0' });
      return pass('the log can be read', [page.exchange]);
    } catch (error) {
      if (!(error instanceof Violation)) throw error;
      return fail(
        `the log cannot be read: ${error.message}`,
        'Host EntityEvent beside the push.',
        error.exchanges,
      );
    }
  },
};
