import { allDeliveries, deliveryExchange } from '../../checks/deliveries.ts';
import { isObject } from '../../http/exact-json.ts';
import { fail, pass, type Rule, skip } from '../../rule.ts';

/** RCP-028, Examples 2 to 4; RESO Common Format, multi-valued payloads. */
export const rule: Rule = {
  id: 'rcp-028/batch',
  covers: ['RCP-028.5'],
  clause: 'A batch is a value array of different events, with no event beside it.',
  level: 'MUST',
  modes: ['push'],
  sends: 'Subscriptions with a backlog of several events.',
  expects: 'In each multi-valued payload no number twice, and no event fields at the top.',
  async check(context) {
    const run = await context.push();
    const batches = allDeliveries(run).filter(each => isObject(each.body) && Array.isArray(each.body.value));
    if (batches.length === 0) return skip('events came one by one, which RCP-028 allows');
    for (const batch of batches) {
      const numbers = batch.events.map(event => event.sequence);
      if (new Set(numbers).size !== numbers.length) {
        return fail('a batch holds an event twice', 'Send each event once in a batch.', [
          deliveryExchange(batch),
        ]);
      }
      if (isObject(batch.body) && batch.body.EntityEventSequence !== undefined) {
        const remedy = 'Use either value or the fields at the top, not both.';
        return fail('a batch has event fields at the top as well', remedy, [deliveryExchange(batch)]);
      }
    }
    return pass(`${batches.length} batches are well formed`, batches.slice(0, 1).map(deliveryExchange));
  },
};
