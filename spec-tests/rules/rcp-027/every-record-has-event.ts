import { listed, walkWithEvents } from '../../checks/sampled-events.ts';
import { fail, pass, type Rule, skip } from '../../rule.ts';
import { keyField } from '../../service/records.ts';

/** RCP-027, Initial Synchronization: a consumer that reads the whole log gets to know every record. */
export const rule: Rule = {
  id: 'rcp-027/every-record-has-event',
  covers: ['RCP-027.7', 'RCP-027.15'],
  clause: 'Whoever reads the whole log meets every record that it may see.',
  level: 'SHOULD',
  modes: ['observe', 'full'],
  sends: 'The walk of the log, and the first records of each resource that the log speaks of.',
  expects: 'At least one event for each of these records.',
  async check(context) {
    const walk = await walkWithEvents(context);
    if (!walk.complete) return skip('the log was not walked to its end');
    const inLog = new Set(walk.events.map(event => `${event.resource}/${event.key}`));
    const resources = new Set(walk.events.map(event => event.resource));
    const missing: string[] = [];
    let looked = 0;
    const exchanges = [];
    for await (const sample of context.samples()) {
      const name = keyField(sample.type);
      if (name === undefined || !resources.has(sample.resource)) continue;
      const keys = sample.rows.map(row => `${sample.resource}/${String(row[name])}`);
      looked += keys.length;
      const absent = keys.filter(key => !inLog.has(key));
      if (absent.length > 0) exchanges.push(sample.page.exchange);
      missing.push(...absent);
    }
    if (looked === 0) return skip('no resource that the log speaks of could be listed');
    if (missing.length > 0) {
      const remedy = 'Seed the log with one event per existing record, and never compact away the last one.';
      return fail(`no event names ${listed(missing)}`, remedy, exchanges);
    }
    return pass(`each of ${looked} records has an event`);
  },
};
