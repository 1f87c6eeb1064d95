import { readEvents } from '../../feed/read.ts';
import { fail, pass, type Rule, skip } from '../../rule.ts';

/** Web API Core 2.0.0, 2.5.4 $select. */
export const rule: Rule = {
  id: 'core-2.0.0/select',
  covers: ['CORE-2.0.0.10a'],
  clause: '$select limits the answer to the named fields.',
  level: 'MUST',
  modes: ['observe', 'full'],
  sends: 'GET /EntityEvent?$select=EntityEventSequence,ResourceName&$top=3',
  expects: 'Both fields, and not ResourceRecordKey.',
  async check(context) {
    const page = await readEvents(context.http, { $select: 'EntityEventSequence,ResourceName', $top: 3 });
    if (page.rows.length === 0) return skip('the log is empty', [page.exchange]);
    const surplus = page.rows.some(row => row.ResourceRecordKey !== undefined);
    const complete = page.rows.every(
      row => row.EntityEventSequence !== undefined && row.ResourceName !== undefined,
    );
    if (complete && !surplus) return pass('only the named fields came', [page.exchange]);
    const reason = complete ? 'ResourceRecordKey came though it was not named' : 'a named field is missing';
    return fail(reason, 'Return the selected fields and no others.', [page.exchange]);
  },
};
