import { readEvents } from '../../feed/read.ts';
import { fail, pass, type Rule } from '../../rule.ts';

/** RCP-027, Entity Events, first item; Certification, third item. */
export const rule: Rule = {
  id: 'rcp-027/resource-exists',
  covers: ['RCP-027.1', 'RCP-027.20c'],
  clause: 'A producer provides a resource named EntityEvent, and a GET on it returns data.',
  level: 'MUST',
  modes: ['observe', 'full', 'stress'],
  sends: 'GET /EntityEvent',
  expects: 'HTTP 200 with a JSON collection, and an entity set EntityEvent in the metadata.',
  async check(context) {
    const page = await readEvents(context.http, {});
    const service = await context.service();
    if (!service.sets.has('EntityEvent')) {
      return fail(
        'the metadata has no entity set EntityEvent',
        'Declare EntityEvent in the entity container.',
        [service.exchange],
      );
    }
    return pass(`a page of ${page.rows.length} rows came back`, [page.exchange]);
  },
};
