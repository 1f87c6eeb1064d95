import { fail, pass, type Rule } from '../../rule.ts';

/** Web API Core 2.0.0, 2.5.1 Metadata Request. */
export const rule: Rule = {
  id: 'core-2.0.0/metadata-format-option',
  covers: ['CORE-2.0.0.5b'],
  clause: '$format=application/xml works on the metadata.',
  level: 'MUST',
  modes: ['observe', 'full'],
  sends: 'GET /$metadata?$format=application/xml',
  expects: 'HTTP 200 with an Edmx document.',
  async check(context) {
    const exchange = await context.http.send('$metadata?$format=application/xml', {
      headers: { Accept: '*/*' },
    });
    const isEdmx = /<(\w+:)?Edmx[\s>]/.test(exchange.text);
    if (exchange.status === 200 && isEdmx) return pass('$format=application/xml works', [exchange]);
    return fail(`HTTP ${exchange.status} ${isEdmx ? '' : 'without Edmx'}`, 'Accept $format on $metadata.', [
      exchange,
    ]);
  },
};
