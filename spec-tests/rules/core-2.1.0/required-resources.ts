import { fail, pass, type Rule } from '../../rule.ts';

const names = ['Property', 'Member', 'Office', 'Field', 'Lookup'];

/** Web API Core 2.1.0, Summary of Changes, first item. */
export const rule: Rule = {
  id: 'core-2.1.0/required-resources',
  covers: ['CORE-2.1.0.6'],
  clause: 'Property, Member, Office, Field and Lookup are available at the top level.',
  level: 'MUST',
  modes: ['observe', 'full'],
  sends: 'GET /$metadata, and GET of each resource with $top=1.',
  expects: 'All five in the metadata, and HTTP 200 for each.',
  async check(context) {
    const service = await context.service();
    const absent = names.filter(name => !service.sets.has(name));
    if (absent.length > 0) {
      return fail(`the metadata lacks ${absent.join(', ')}`, 'Expose the five resources.', [
        service.exchange,
      ]);
    }
    for (const name of names) {
      const exchange = await context.http.send(`${name}?$top=1`);
      if (exchange.status !== 200)
        return fail(`HTTP ${exchange.status} for ${name}`, 'Serve each of the five.', [exchange]);
    }
    return pass('all five are there', [service.exchange]);
  },
};
