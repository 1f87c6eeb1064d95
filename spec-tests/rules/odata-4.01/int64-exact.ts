import { eventPath } from '../../canary/canary-writer.ts';
import { ascending, spread, walkWithEvents } from '../../checks/sampled-events.ts';
import { eventsOf } from '../../feed/event.ts';
import { readEvents } from '../../feed/read.ts';
import { isObject } from '../../http/exact-json.ts';
import { jsonOf } from '../../http/exchange.ts';
import { fail, pass, type Rule, skip } from '../../rule.ts';

const remedy =
  'Keep Int64 out of floating point on the whole way: in the database driver, in JSON, in $filter and in keys.';
const exactUpTo = 2n ** 53n;

/** OData JSON Format 7.1, Primitive Value: Int64 has all its digits. */
export const rule: Rule = {
  id: 'odata-4.01/int64-exact',
  covers: ['ODATA.int64', 'RCP-027.3'],
  clause: 'Numbers above 2^53 keep all their digits, in answers, filters and keys.',
  level: 'MUST',
  modes: ['observe', 'full'],
  sends: 'EntityEventSequence eq N and GET /EntityEvent(N), for numbers of the log above 2^53.',
  expects: 'The event N and no neighbour.',
  async check(context) {
    const large = ascending(await walkWithEvents(context)).filter(event => event.sequence > exactUpTo);
    if (large.length === 0) return skip('the walk met no number above 2^53');
    if (large.length > 3 && large.every(event => event.sequence % 2n === 0n)) {
      const walk = await context.walk();
      return fail(
        'every number above 2^53 is even, as after rounding',
        remedy,
        walk.pages.slice(-1).map(page => page.exchange),
      );
    }
    for (const { sequence } of spread(large, 4)) {
      const page = await readEvents(context.http, { $filter: `EntityEventSequence eq ${sequence}` });
      const got = page.events.map(event => event.sequence);
      if (got.some(number => number !== sequence)) {
        return fail(`eq ${sequence} returned ${got.join(', ')}`, remedy, [page.exchange]);
      }
      const exchange = await context.http.send(eventPath(sequence));
      const body = jsonOf(exchange);
      const byKey = exchange.status === 200 && isObject(body) ? eventsOf([body])[0]?.sequence : undefined;
      if (byKey !== undefined && byKey !== sequence) {
        return fail(`EntityEvent(${sequence}) returned ${byKey}`, remedy, [exchange]);
      }
    }
    return pass(`${large.length} numbers above 2^53 keep their digits`);
  },
};
