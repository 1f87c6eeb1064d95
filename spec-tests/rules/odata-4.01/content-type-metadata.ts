import { fail, pass, type Rule } from '../../rule.ts';

/** OData JSON Format 3: the content type names the metadata level. */
export const rule: Rule = {
  id: 'odata-4.01/content-type-metadata',
  covers: ['ODATA.formats'],
  clause: 'The content type names the level of metadata, which Excel and Power BI insist on.',
  level: 'SHOULD',
  modes: ['observe', 'full'],
  sends: 'GET /EntityEvent with Accept: application/json;odata.metadata=minimal',
  expects: 'application/json;odata.metadata=minimal',
  async check(context) {
    const headers = { Accept: 'application/json;odata.metadata=minimal' };
    const exchange = await context.http.send('EntityEvent?$top=1', { headers });
    const type = exchange.headers['content-type'] ?? '';
    if (/;\s*(odata\.)?metadata=minimal/i.test(type)) return pass(type, [exchange]);
    return fail(`the content type is "${type}"`, 'Add odata.metadata=minimal to the content type.', [
      exchange,
    ]);
  },
};
