import { listed, walkWithEvents } from '../../checks/sampled-events.ts';
import { fail, pass, type Rule } from '../../rule.ts';

/** RCP-027, Certification, fifth item. */
export const rule: Rule = {
  id: 'rcp-027/resource-name-in-metadata',
  covers: ['RCP-027.4', 'RCP-027.20e'],
  clause: 'Every ResourceName in the log is a resource that the metadata defines.',
  level: 'MUST',
  modes: ['observe', 'full'],
  sends: 'GET /$metadata and the walk of the log.',
  expects: 'An entity set for each name.',
  async check(context) {
    const walk = await walkWithEvents(context);
    const service = await context.service();
    const unknown = new Set<string>();
    let page = walk.pages[0];
    for (const each of walk.pages) {
      for (const row of each.rows) {
        const name = row.ResourceName;
        if (typeof name !== 'string' || service.sets.has(name)) continue;
        if (unknown.size === 0) page = each;
        unknown.add(name);
      }
    }
    const evidence = page === undefined ? [] : [page.exchange, service.exchange];
    if (unknown.size > 0) {
      const reason = `the metadata does not define ${listed([...unknown])}`;
      return fail(reason, 'Define each resource that events name, or leave its events out.', evidence);
    }
    return pass('every ResourceName is defined', evidence);
  },
};
