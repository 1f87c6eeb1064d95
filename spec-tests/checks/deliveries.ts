import type { Context } from '../context.ts';
import type { Exchange } from '../http/exchange.ts';
import type { PushRun } from '../push/push-run.ts';
import type { Delivery } from '../push/receiver.ts';
import { fail, pass, Unexercised, type Verdict } from '../rule.ts';

/** A delivery as evidence: the request that the server sent to the receiver, and what it was answered. */
export function deliveryExchange(delivery: Delivery): Exchange {
  return {
    method: delivery.method,
    url: 'https://receiver.example/',
    requestHeaders: pick(delivery.headers, ['content-type', 'authorization', 'entityeventsource']),
    requestBody: delivery.text.slice(0, 1000),
    status: delivery.answered,
    headers: {},
    text: '',
    durationMs: 0,
  };
}

function pick(headers: Record<string, string>, names: readonly string[]): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => names.includes(name)));
}

/** All deliveries of a run. @throws Unexercised when none came. */
export function allDeliveries(run: PushRun): Delivery[] {
  const all = [run.plain, run.seconds, run.date, run.halt, run.error, run.resume].flatMap(each => [
    ...each.deliveries,
  ]);
  if (all.length === 0) throw new Unexercised('nothing was delivered', [run.plain.subscription.exchange]);
  return all;
}

/** Looks at each delivery of the run; `fault` says what is wrong with one, or undefined. */
export async function everyDelivery(
  context: Context,
  fault: (delivery: Delivery, run: PushRun) => string | undefined,
  good: string,
  remedy: string,
): Promise<Verdict> {
  const run = await context.push();
  const deliveries = allDeliveries(run);
  for (const delivery of deliveries) {
    const text = fault(delivery, run);
    if (text !== undefined) return fail(text, remedy, [deliveryExchange(delivery)]);
  }
  return pass(`${deliveries.length} deliveries: ${good}`, deliveries.slice(0, 1).map(deliveryExchange));
}
