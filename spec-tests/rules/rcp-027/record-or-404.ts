import { ascending, spread, walkWithEvents } from '../../checks/sampled-events.ts';
import type { FeedEvent } from '../../feed/event.ts';
import { isObject } from '../../http/exact-json.ts';
import { type Exchange, jsonOf } from '../../http/exchange.ts';
import { fail, pass, type Rule, skip, warn } from '../../rule.ts';
import type { Service } from '../../service/metadata.ts';
import { keyField, recordPath } from '../../service/records.ts';

/** RCP-027, Consumer Visibility Workflow (404) and Certification, seventh item (which says 400 once). */
export const rule: Rule = {
  id: 'rcp-027/record-or-404',
  covers: ['RCP-027.9', 'RCP-027.17', 'RCP-027.20g'],
  clause: 'The record of an event is returned, or HTTP 404 says that it is gone or not visible any more.',
  level: 'MUST',
  modes: ['observe', 'full'],
  sends: 'GET /Resource(key) for a sample of the events, the last ones first.',
  expects: 'HTTP 200 with the record, or 404. 400, which one passage of RCP-027 names, is warned about.',
  async check(context) {
    const walk = await walkWithEvents(context);
    const service = await context.service();
    const latest = new Map<string, FeedEvent>();
    for (const event of ascending(walk)) latest.set(`${event.resource}/${event.key}`, event);
    const known = [...latest.values()].filter(event => service.sets.has(event.resource));
    if (known.length === 0) return skip('no event names a resource of the metadata');
    const odd: { event: FeedEvent; exchange: Exchange }[] = [];
    let gone = 0;
    for (const event of spread(known, context.settings.sampleRecords)) {
      const exchange = await context.http.send(recordPath(service, event.resource, event.key));
      if (exchange.status === 404) gone += 1;
      else if (exchange.status !== 200 || !holdsRecord(service, event, exchange))
        odd.push({ event, exchange });
    }
    const worst = odd.find(each => each.exchange.status !== 400) ?? odd[0];
    const looked = Math.min(known.length, context.settings.sampleRecords);
    if (worst === undefined) return pass(`${looked - gone} records came back, ${gone} are gone (404)`);
    const { event, exchange } = worst;
    const without = exchange.status === 200 ? ' without the record' : '';
    const reason = `${event.resource} '${event.key}' of event ${event.sequence} answers HTTP ${exchange.status}${without}`;
    const remedy =
      'Answer 404 for a record that is deleted or that this consumer may not see, so that it deletes its copy.';
    return exchange.status === 400 ? warn(reason, remedy, [exchange]) : fail(reason, remedy, [exchange]);
  },
};

/** Whether an answer 200 holds the record; one inside `value` is the matter of core-2.0.0/record-by-key. */
function holdsRecord(service: Service, event: FeedEvent, exchange: Exchange): boolean {
  const type = service.sets.get(event.resource);
  const name = type === undefined ? undefined : keyField(type);
  const body = jsonOf(exchange);
  if (name === undefined || !isObject(body)) return isObject(body);
  const inside = Array.isArray(body.value) ? body.value[0] : body;
  return isObject(inside) && String(inside[name]) === event.key;
}
