import { mediaType } from '../../http/exchange.ts';
import { fail, pass, type Rule } from '../../rule.ts';

/** Web API Core 2.0.0, 2.3.3 and 2.5.1. */
export const rule: Rule = {
  id: 'core-2.0.0/metadata-xml',
  covers: ['CORE-2.0.0.1c', 'CORE-2.0.0.5a'],
  clause:
    'The metadata stands at $metadata below the service root and is XML when nothing else is asked for.',
  level: 'MUST',
  modes: ['observe', 'full'],
  sends: 'GET /$metadata with Accept: */*',
  expects: 'HTTP 200, application/xml, an Edmx document.',
  async check(context) {
    const exchange = await context.http.send('$metadata', { headers: { Accept: '*/*' } });
    const type = mediaType(exchange);
    const isEdmx = /<(\w+:)?Edmx[\s>]/.test(exchange.text);
    if (exchange.status === 200 && type === 'application/xml' && isEdmx)
      return pass('XML metadata', [exchange]);
    const reason = `HTTP ${exchange.status}, ${type || 'no content type'}, ${isEdmx ? 'an' : 'no'} Edmx document`;
    return fail(reason, 'Serve CSDL XML at $metadata as application/xml.', [exchange]);
  },
};
