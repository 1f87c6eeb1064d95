import { fail, pass, type Rule } from '../../rule.ts';

/** RCP-027, Consumer Visibility Workflow. */
export const rule: Rule = {
  id: 'rcp-027/deleted-record-404',
  covers: ['RCP-027.17'],
  clause: 'A record that was deleted answers 404.',
  level: 'MUST',
  modes: ['full'],
  sends: 'DELETE of a canary, then GET of it after its event.',
  expects: 'HTTP 404.',
  async check(context) {
    const { deleted } = await context.canaries();
    const { readAfter } = deleted;
    const evidence = [deleted.write, readAfter];
    if (readAfter.status === 404) return pass('the deleted record answers 404', evidence);
    const remedy = 'Answer 404: it is how consumers learn that they must delete their copy.';
    return fail(`the deleted record answers HTTP ${readAfter.status}`, remedy, evidence);
  },
};
