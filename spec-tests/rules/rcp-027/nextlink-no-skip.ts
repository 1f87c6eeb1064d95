import { walkWithEvents } from '../../checks/sampled-events.ts';
import { fail, pass, type Rule, skip } from '../../rule.ts';

/** OData Protocol 11.2.6.7: paging should be stable; counting rows is not while events are hidden or compacted. */
export const rule: Rule = {
  id: 'rcp-027/nextlink-no-skip',
  covers: ['RCP-027.16'],
  clause: 'The nextLink of the log holds a position, not a count of rows.',
  level: 'SHOULD',
  modes: ['observe', 'full'],
  sends: 'The walk of the log.',
  expects: 'No $skip in a nextLink.',
  async check(context) {
    const walk = await walkWithEvents(context);
    const linked = walk.pages.filter(page => page.nextLink !== undefined);
    const counted = linked.find(page => /[?&](\$|%24)?skip=/i.test(page.nextLink ?? ''));
    if (linked.length === 0) return skip('no page had a nextLink');
    if (counted !== undefined) {
      const remedy =
        'Continue after the last EntityEventSequence. With $skip, a row that is hidden meanwhile makes the next page skip one.';
      return fail(`a nextLink counts rows: ${counted.nextLink}`, remedy, [counted.exchange]);
    }
    return pass(
      `${linked.length} nextLinks hold a position`,
      linked.slice(0, 1).map(page => page.exchange),
    );
  },
};
