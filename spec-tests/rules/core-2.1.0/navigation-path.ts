import { expandable } from '../../checks/navigation.ts';
import { pageOf } from '../../http/page.ts';
import { fail, pass, type Rule, skip } from '../../rule.ts';
import { recordPath, sampledKey } from '../../service/records.ts';

/** Web API Core 2.1.0, Expanded Data Elements, last item; URI Conventions. */
export const rule: Rule = {
  id: 'core-2.1.0/navigation-path',
  covers: ['CORE-2.1.0.5b'],
  clause: "Related records can be fetched below a record: /Property('K')/Media.",
  level: 'MUST',
  modes: ['observe', 'full'],
  sends: "GET /Resource('K')/Navigation",
  expects: 'HTTP 200 with the related records.',
  async check(context) {
    const { resource, navigation } = await expandable(context);
    const service = await context.service();
    const key = sampledKey(await context.records(resource));
    if (key === undefined) return skip(`${resource} could not be listed`);
    const path = `${recordPath(service, resource, key)}/${navigation.name}`;
    const exchange = await context.http.send(path);
    if (!navigation.isCollection && (exchange.status === 200 || exchange.status === 204))
      return pass(path, [exchange]);
    if (exchange.status !== 200)
      return fail(`HTTP ${exchange.status} for ${path}`, 'Serve the navigation path.', [exchange]);
    return pass(`${pageOf(exchange).rows.length} records at ${path}`, [exchange]);
  },
};
