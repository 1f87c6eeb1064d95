import { expandable } from '../../checks/navigation.ts';
import { address } from '../../http/address.ts';
import { readPage } from '../../http/page.ts';
import { fail, pass, type Rule } from '../../rule.ts';

/** Web API Core 2.1.0, Expanded Data Elements. */
export const rule: Rule = {
  id: 'core-2.1.0/expand',
  covers: ['CORE-2.1.0.5a'],
  clause: '$expand brings related records into the answer.',
  level: 'MUST',
  modes: ['observe', 'full'],
  sends: 'GET /Resource?$expand=Navigation&$top=5',
  expects: 'In each row the navigation property, as an array where it is a collection.',
  async check(context) {
    const { resource, navigation } = await expandable(context);
    const page = await readPage(context.http, address(resource, { $expand: navigation.name, $top: 5 }));
    const bare = page.rows.find(row => {
      const value = row[navigation.name];
      return navigation.isCollection ? !Array.isArray(value) : value === undefined;
    });
    if (bare === undefined) return pass(`${resource} with ${navigation.name}`, [page.exchange]);
    return fail(`a ${resource} came without ${navigation.name}`, 'Return the expanded records inline.', [
      page.exchange,
    ]);
  },
};
