import type { Context } from '../context.ts';
import type { Scenario } from '../push/push-run.ts';
import { fail, pass, skip, type Verdict } from '../rule.ts';
import { deliveryExchange } from './deliveries.ts';

/** A waiting time may be this much shorter than asked for, since two clocks are compared. */
const toleranceMs = 150;

/** Judges whether a server waited as Retry-After told it, and came back with the same events. */
export function judgeRetryAfter(context: Context, scenario: Scenario, form: string): Verdict {
  const [first, second] = scenario.deliveries;
  if (first === undefined || scenario.notBeforeMs === undefined) return skip('nothing was delivered');
  if (second === undefined) {
    const seconds = Math.round(context.settings.push.waitMs / 1000);
    const remedy = 'Deliver the refused events again after the time that Retry-After names.';
    return fail(`nothing came within ${seconds} s after Retry-After had passed`, remedy, [
      deliveryExchange(first),
    ]);
  }
  const evidence = [deliveryExchange(first), deliveryExchange(second)];
  if (second.atMs < scenario.notBeforeMs - toleranceMs) {
    const earlyMs = Math.round(scenario.notBeforeMs - second.atMs);
    return fail(
      `the next request came ${earlyMs} ms before Retry-After (${form}) had passed`,
      'Wait as told.',
      evidence,
    );
  }
  const lost = lostBetween(first.events, second.events);
  if (lost !== undefined)
    return fail(`${lost} was refused with 429 and not delivered again`, again, evidence);
  const waitedMs = Math.round(second.atMs - first.atMs);
  return pass(`the next request came after ${waitedMs} ms with the same events`, evidence);
}

const again = 'A refused batch is not delivered: send it again.';

/** The first event of a refused delivery that the next one does not begin with or hold. */
export function lostBetween(
  refused: readonly { sequence: bigint }[],
  next: readonly { sequence: bigint }[],
): bigint | undefined {
  const low = next[0]?.sequence;
  const first = refused[0]?.sequence;
  if (first === undefined || low === undefined) return first;
  return low > first && !next.some(event => event.sequence === first) ? first : undefined;
}
