import { firstExchange, walkWithEvents } from '../../checks/sampled-events.ts';
import { fail, pass, type Rule, skip } from '../../rule.ts';

/** OData Protocol 11.2.6.7: the link must be usable as it is given. */
export const rule: Rule = {
  id: 'odata-4.01/nextlink-same-origin',
  covers: ['ODATA.paging'],
  clause: 'A nextLink leads to the server that was asked, by the same protocol and port.',
  level: 'SHOULD',
  modes: ['observe', 'full'],
  sends: 'The walk of the log.',
  expects: 'Relative links, or absolute ones with the origin of the service root.',
  async check(context) {
    const walk = await walkWithEvents(context);
    const { origin } = new URL(context.settings.url);
    const linked = walk.pages.filter(page => page.nextLink !== undefined);
    if (linked.length === 0) return skip('no page had a nextLink', firstExchange(walk));
    const foreign = linked.find(page => new URL(context.http.resolve(page.nextLink ?? '')).origin !== origin);
    if (foreign === undefined) return pass(`${linked.length} nextLinks stay at ${origin}`);
    const remedy =
      'Build links from the public address: behind a proxy, from a configured base or X-Forwarded headers.';
    return fail(`a nextLink leads to ${new URL(foreign.nextLink ?? '').origin}`, remedy, [foreign.exchange]);
  },
};
