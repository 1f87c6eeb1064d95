import { judgeRetryAfter } from '../../checks/refusals.ts';
import type { Rule } from '../../rule.ts';

/** RCP-028, Example 3 and Polite Behavior, third item. */
export const rule: Rule = {
  id: 'rcp-028/retry-after-seconds',
  covers: ['RCP-028.8', 'RCP-028.9'],
  clause: 'After 429 with Retry-After in seconds the producer waits that long, then delivers again.',
  level: 'SHOULD',
  modes: ['push'],
  sends: 'To the first delivery 429 with Retry-After in seconds.',
  expects: 'Nothing before the time has passed, then the same events.',
  check: async context => judgeRetryAfter(context, (await context.push()).seconds, 'in seconds'),
};
