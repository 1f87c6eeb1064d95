import { ascending, walkWithEvents } from '../../checks/sampled-events.ts';
import { readEvents } from '../../feed/read.ts';
import { stringLiteral } from '../../http/address.ts';
import { fail, pass, type Rule, skip } from '../../rule.ts';

/** Web API Core 2.0.0, 2.4: string comparison is case-sensitive. */
export const rule: Rule = {
  id: 'core-2.0.0/case-sensitive-strings',
  covers: ['CORE-2.0.0.8'],
  clause: 'Strings are compared case-sensitively.',
  level: 'MUST',
  modes: ['observe', 'full'],
  sends: 'ResourceName eq with the letters of a known name in the other case.',
  expects: 'No event with the name as it is written in the log.',
  async check(context) {
    const event = ascending(await walkWithEvents(context))[0];
    const swapped = event?.resource.toUpperCase();
    if (event === undefined || swapped === undefined || swapped === event.resource)
      return skip('no name with small letters');
    const page = await readEvents(context.http, {
      $filter: `ResourceName eq ${stringLiteral(swapped)}`,
      $top: 5,
    });
    const wrong = page.events.find(each => each.resource !== swapped);
    if (wrong === undefined) return pass(`'${swapped}' does not find ${event.resource}`, [page.exchange]);
    return fail(`'${swapped}' finds ${wrong.resource}`, 'Compare strings case-sensitively.', [page.exchange]);
  },
};
