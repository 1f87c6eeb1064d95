import { fail, pass, type Rule } from '../../rule.ts';

const names = ['Property', 'Member', 'Office', 'Media', 'InternetTracking'];

/** Web API Core 2.0.0, 2.3.4. */
export const rule: Rule = {
  id: 'core-2.0.0/standard-resource',
  covers: ['CORE-2.0.0.9'],
  clause: 'At least one of Property, Member, Office, Media and InternetTracking is exposed.',
  level: 'MUST',
  modes: ['observe', 'full'],
  sends: 'GET /$metadata',
  expects: 'An entity set of one of these names.',
  async check(context) {
    const service = await context.service();
    const found = names.filter(name => service.sets.has(name));
    if (found.length > 0) return pass(`${found.join(', ')} exposed`, [service.exchange]);
    return fail('none of the five resources is exposed', `Expose one of ${names.join(', ')}.`, [
      service.exchange,
    ]);
  },
};
