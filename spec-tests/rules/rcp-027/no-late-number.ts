import { listed } from '../../checks/sampled-events.ts';
import { readAgain } from '../../checks/second-reading.ts';
import { fail, pass, type Rule } from '../../rule.ts';

/** RCP-027, Producers: the order of numbers is the order of events, so that a reader may step by its last number. */
export const rule: Rule = {
  id: 'rcp-027/no-late-number',
  covers: ['RCP-027.6', 'RCP-027.10', 'RCP-027.11'],
  clause:
    'A number never appears below one that has been served already; whoever stepped past it would miss it.',
  level: 'MUST',
  modes: ['observe', 'full'],
  sends: 'Stretches of the log a second time.',
  expects: 'No number between the first and the last of a stretch that was not there the first time.',
  async check(context) {
    const { before, now, exchanges } = await readAgain(context);
    const known = new Set(before.map(event => event.sequence));
    const late = [...now.keys()].filter(sequence => !known.has(sequence));
    if (late.length > 0) {
      const remedy =
        'Hand out numbers in commit order, for instance from one sequencer; a database sequence read inside ' +
        'concurrent transactions does not.';
      return fail(`${listed(late)} appeared behind readers that had passed`, remedy, exchanges);
    }
    return pass(`no new number among ${known.size} that were read twice`, exchanges);
  },
};
