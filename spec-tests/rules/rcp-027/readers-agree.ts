import { recordId } from '../../feed/event.ts';
import { fail, pass, type Rule, skip } from '../../rule.ts';

/** RCP-027, Producers, under concurrent readers. */
export const rule: Rule = {
  id: 'rcp-027/readers-agree',
  covers: ['RCP-027.6', 'RCP-027.12'],
  clause: 'All readers are told the same record for the same number.',
  level: 'MUST',
  modes: ['stress'],
  sends: 'gt N from several readers while canaries are written.',
  expects: 'One record for each number.',
  async check(context) {
    const run = await context.stress();
    if (run.afterwards.length === 0) return skip('no event arrived');
    const first = new Map(run.afterwards.map(event => [event.sequence, event]));
    for (const event of run.readers.flatMap(reader => reader.events)) {
      const known = first.get(event.sequence);
      if (known === undefined || recordId(known) === recordId(event)) continue;
      const reason = `${event.sequence} is ${known.resource} '${known.key}' for one and ${event.resource} '${event.key}' for another`;
      return fail(
        reason,
        'Fix number, ResourceName and ResourceRecordKey when the event is written.',
        run.exchanges,
      );
    }
    return pass(`${first.size} numbers mean the same to ${run.readers.length} readers`, run.exchanges);
  },
};
