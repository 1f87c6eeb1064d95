import { isObject, type JsonObject, writeExactJson } from '../../http/exact-json.ts';
import { type Exchange, jsonOf } from '../../http/exchange.ts';
import { fail, pass, type Rule, skip } from '../../rule.ts';

/** RCP-027, Consumers: the record is fetched because its event was seen. */
export const rule: Rule = {
  id: 'rcp-027/fresh-after-event',
  covers: ['RCP-027.22'],
  clause: 'A record fetched after its event shows the change that the event stands for.',
  level: 'SHOULD',
  modes: ['full'],
  sends: 'PATCH of a canary, then, once its event is served, GET of it.',
  expects: 'The new values.',
  async check(context) {
    const { updated } = await context.canaries();
    if (updated.sighting.event === undefined) return skip('the event of the update was not seen');
    const evidence = [updated.write, updated.readAfter];
    const stale = staleFields(updated.readAfter, updated.fields);
    if (stale.length === 0) return pass('the change is there', evidence);
    const remedy =
      'Serve records from a node that is at least as fresh as the log; else consumers keep the old value.';
    return fail(`${stale.join(' and ')} still has the old value after the event`, remedy, evidence);
  },
};

function staleFields(read: Exchange, fields: JsonObject): string[] {
  const body = jsonOf(read);
  const record: JsonObject = isObject(body) ? body : {};
  return Object.keys(fields).filter(
    name => writeExactJson(record[name] ?? null) !== writeExactJson(fields[name] ?? null),
  );
}
