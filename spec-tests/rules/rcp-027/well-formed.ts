import { walkWithEvents } from '../../checks/sampled-events.ts';
import { fail, pass, type Rule } from '../../rule.ts';

/** RCP-027, Certification, sixth item; OData JSON Format 4.5.1. */
export const rule: Rule = {
  id: 'rcp-027/well-formed',
  covers: ['RCP-027.20f'],
  clause: 'The response of EntityEvent is a well-formed OData collection.',
  level: 'MUST',
  modes: ['observe', 'full'],
  sends: 'The walk of the log.',
  expects: 'On each page a JSON object with @odata.context and a value array of objects.',
  async check(context) {
    const walk = await walkWithEvents(context);
    if (walk.brokenBy !== undefined) {
      const reason = `page ${walk.pages.length + 1} of the walk: ${walk.brokenBy.reason}`;
      return fail(reason, 'Answer each page with 200 and an OData JSON collection.', walk.brokenBy.exchanges);
    }
    const bare = walk.pages.find(page => page.context === undefined);
    if (bare !== undefined) {
      return fail('a page has no @odata.context', 'Add the context URL to each response.', [bare.exchange]);
    }
    return pass(
      `${walk.pages.length} pages are well formed`,
      walk.pages.slice(0, 1).map(page => page.exchange),
    );
  },
};
