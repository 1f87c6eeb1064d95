import { numberAbove } from '../../canary/follower.ts';
import { fail, pass, type Rule, skip } from '../../rule.ts';

/** RCP-027, Consumer Visibility Workflow: children should have appeared at a lower number than the parent. */
export const rule: Rule = {
  id: 'rcp-027/child-before-parent-on-removal',
  covers: ['RCP-027.18'],
  clause: 'When records go, the events of the children come before that of their parent.',
  level: 'SHOULD',
  modes: ['full'],
  sends: 'DELETE of a canary that has a child, which the server removes with it.',
  expects: "The child's event has the lower number.",
  async check(context) {
    const { family } = await context.canaries();
    if (family?.removal === undefined)
      return skip('no child record could be created; name one in canary.child');
    const { parent, child, childRead } = family.removal;
    if (childRead.status === 200) return skip('the child is still served without its parent', [childRead]);
    const up = numberAbove(parent.sighting);
    const down = numberAbove(child);
    if (up === undefined || down === undefined)
      return skip('the events of parent and child were not both seen');
    if (down > up) {
      const reason = `the child's event ${down} comes after its parent's ${up}`;
      return fail(reason, 'Within a batch, number children before their parents as they go.', [parent.write]);
    }
    return pass(`the child's ${down} comes before the parent's ${up}`, [parent.write]);
  },
};
