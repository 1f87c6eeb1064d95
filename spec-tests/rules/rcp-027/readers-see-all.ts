import { listed } from '../../checks/sampled-events.ts';
import { fail, pass, type Rule, skip } from '../../rule.ts';

/** RCP-027, Producers: whoever has been served up to N never misses a number below N. */
export const rule: Rule = {
  id: 'rcp-027/readers-see-all',
  covers: ['RCP-027.10', 'RCP-027.11', 'RCP-027.14'],
  clause:
    'A reader that follows the log by its last number misses no event, however many write at the same time.',
  level: 'MUST',
  modes: ['stress'],
  sends: 'gt N from several readers while canaries are written, then the same stretch once more.',
  expects: 'Nothing in the second reading below where a reader stood that it was not served.',
  async check(context) {
    const run = await context.stress();
    if (run.afterwards.length === 0) return skip('no event arrived');
    for (const reader of run.readers) {
      const served = new Set(reader.events.map(event => event.sequence));
      const missed = run.afterwards.filter(
        event => event.sequence <= reader.cursor && !served.has(event.sequence),
      );
      if (missed.length === 0) continue;
      const reason = `a reader that stood at ${reader.cursor} was never served ${listed(missed.map(each => each.sequence))}`;
      const remedy =
        'Make numbers visible in their order: assign them at commit, under one lock or by one sequencer.';
      return fail(reason, remedy, run.exchanges);
    }
    return pass(`${run.readers.length} readers met all of ${run.afterwards.length} events`, run.exchanges);
  },
};
