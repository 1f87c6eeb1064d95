import { judgeRetryAfter } from '../../checks/refusals.ts';
import type { Rule } from '../../rule.ts';

/** RCP-028, Polite Behavior, third item: a date or seconds. */
export const rule: Rule = {
  id: 'rcp-028/retry-after-date',
  covers: ['RCP-028.8', 'RCP-028.9'],
  clause: 'After 429 with Retry-After as a date the producer waits until then, then delivers again.',
  level: 'SHOULD',
  modes: ['push'],
  sends: 'To the first delivery 429 with Retry-After as an HTTP date.',
  expects: 'Nothing before that date, then the same events.',
  check: async context => judgeRetryAfter(context, (await context.push()).date, 'as a date'),
};
