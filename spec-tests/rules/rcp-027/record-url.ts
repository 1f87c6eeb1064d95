import { spread, walkWithEvents } from '../../checks/sampled-events.ts';
import { fail, pass, type Rule, skip } from '../../rule.ts';

/** RCP-027, Proposal: ResourceRecordUrl is optional. */
export const rule: Rule = {
  id: 'rcp-027/record-url',
  covers: ['RCP-027.19'],
  clause: 'Where an event carries a ResourceRecordUrl, the record can be fetched there.',
  level: 'SHOULD',
  modes: ['observe', 'full'],
  sends: 'GET of a few ResourceRecordUrls.',
  expects: 'HTTP 200, or 404 for a record that is gone.',
  async check(context) {
    const walk = await walkWithEvents(context);
    const urls =
      walk.events.length === 0 ? [] : walk.pages.flatMap(page => page.rows.map(row => row.ResourceRecordUrl));
    const given = [...new Set(urls.filter(url => typeof url === 'string' && url !== ''))].map(String);
    if (given.length === 0) return skip('no event carries a ResourceRecordUrl');
    for (const url of spread(given, 5)) {
      const exchange = await context.http.send(url);
      // Which refusal fits a record that is gone is the matter of rcp-027/record-or-404.
      if ([200, 403, 404].includes(exchange.status)) continue;
      const reason = `a ResourceRecordUrl answers HTTP ${exchange.status}`;
      return fail(reason, 'Let ResourceRecordUrl point to where the record can be fetched.', [exchange]);
    }
    return pass(`${Math.min(5, given.length)} of ${given.length} addresses answer`);
  },
};
