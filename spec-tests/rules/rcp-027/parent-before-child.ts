import { numberAbove } from '../../canary/follower.ts';
import { fail, pass, type Rule, skip } from '../../rule.ts';

/** RCP-027, Producers: referential integrity. */
export const rule: Rule = {
  id: 'rcp-027/parent-before-child',
  covers: ['RCP-027.13'],
  clause: 'When records appear, the event of a parent comes before those of its children.',
  level: 'SHOULD',
  modes: ['full'],
  sends: 'POST of a canary, then POST of a child that refers to it.',
  expects: "The parent's event has the lower number.",
  async check(context) {
    const { family } = await context.canaries();
    if (family === undefined) return skip('no child record could be created; name one in canary.child');
    const parent = numberAbove(family.parent.sighting);
    const child = numberAbove(family.child.sighting);
    if (parent === undefined || child === undefined)
      return skip('the events of parent and child were not both seen');
    const evidence = [family.parent.write, family.child.write];
    if (parent > child) {
      const reason = `the child's event ${child} comes before its parent's ${parent}`;
      return fail(reason, 'Within a batch, number parents before their children.', evidence);
    }
    return pass(`the parent's ${parent} comes before the child's ${child}`, evidence);
  },
};
