import { fieldThat } from '../../checks/record-filter.ts';
import { address, stringLiteral } from '../../http/address.ts';
import { readPage } from '../../http/page.ts';
import { fail, pass, type Rule } from '../../rule.ts';

/** Web API Core 2.1.0, String Comparison Operators, second item; RCP-032. */
export const rule: Rule = {
  id: 'core-2.1.0/lookup-resource',
  covers: ['CORE-2.1.0.7c'],
  clause: 'The Lookup resource holds the values of the lookups that the metadata names.',
  level: 'MUST',
  modes: ['observe', 'full'],
  sends: "GET /Lookup?$filter=LookupName eq '...', for a lookup that a field names.",
  expects: 'Rows with LookupName and LookupValue, and among them a value that a record has.',
  async check(context) {
    const { sample, field, values } = await fieldThat(
      context,
      each => each.type === 'Edm.String' && !each.isCollection && each.lookupName !== undefined,
      'a string lookup',
    );
    const name = field.lookupName ?? '';
    const page = await readPage(
      context.http,
      address('Lookup', { $filter: `LookupName eq ${stringLiteral(name)}` }),
    );
    const known = page.rows.map(row => row.LookupValue);
    if (known.length === 0)
      return fail(`Lookup has no row for ${name}`, 'List the values in Lookup.', [page.exchange]);
    const value = String(values[0]);
    if (page.nextLink !== undefined || known.includes(value))
      return pass(`${known.length} values of ${name}`, [page.exchange]);
    const reason = `${sample.resource} has ${field.name} '${value}', which Lookup does not list for ${name}`;
    return fail(reason, 'List every value in Lookup.', [page.exchange]);
  },
};
