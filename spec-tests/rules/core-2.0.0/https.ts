import { fail, pass, type Rule, skip } from '../../rule.ts';

/** Web API Core 2.0.0, 2.2 HTTP Protocol. */
export const rule: Rule = {
  id: 'core-2.0.0/https',
  covers: ['CORE-2.0.0.1a'],
  clause: 'The service is served by HTTPS.',
  level: 'MUST',
  modes: ['observe', 'full'],
  sends: 'Nothing; the address is looked at.',
  expects: 'https in the address of the service.',
  async check(context) {
    const { protocol, hostname } = new URL(context.settings.url);
    if (protocol === 'https:') return pass('the service is reached by https');
    const isLoopback = /^(localhost|127\.[0-9.]+|\[::1\])$/.test(hostname);
    if (isLoopback && !context.settings.requireHttps)
      return skip('a loopback address tells nothing of the deployment');
    return fail('the service is reached by plain http', 'Serve the API by HTTPS only.');
  },
};
