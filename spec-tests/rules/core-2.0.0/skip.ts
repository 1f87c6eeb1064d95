import { address } from '../../http/address.ts';
import { readPage } from '../../http/page.ts';
import { fail, pass, type Rule, skip } from '../../rule.ts';
import { keyField } from '../../service/records.ts';

/** Web API Core 2.0.0, 2.5.4 $skip; the test demands two different pages. */
export const rule: Rule = {
  id: 'core-2.0.0/skip',
  covers: ['CORE-2.0.0.10d'],
  clause: '$skip passes over rows.',
  level: 'MUST',
  modes: ['observe', 'full'],
  sends: 'GET /Resource?$top=2 and GET /Resource?$top=2&$skip=2, on a record resource.',
  expects: 'Two pages without a row in common.',
  async check(context) {
    for await (const sample of context.samples()) {
      const name = keyField(sample.type);
      if (name === undefined || sample.rows.length < 4) continue;
      const options = { $orderby: name, $top: 2 };
      const first = await readPage(context.http, address(sample.resource, options));
      const second = await readPage(context.http, address(sample.resource, { ...options, $skip: 2 }));
      const evidence = [first.exchange, second.exchange];
      const keys = new Set(first.rows.map(row => String(row[name])));
      if (second.rows.length === 0) return fail('no row after $skip=2', 'Support $skip.', evidence);
      const repeated = second.rows.some(row => keys.has(String(row[name])));
      if (repeated) return fail('$skip=2 brought rows of the first page again', 'Support $skip.', evidence);
      return pass(`${sample.resource}: two different pages`, evidence);
    }
    return skip('no record resource holds four records');
  },
};
