import { connect } from 'node:tls';
import { fail, pass, type Rule, skip } from '../../rule.ts';

/** Web API Core 2.1.0, 2.2 HTTP Protocol. */
export const rule: Rule = {
  id: 'core-2.1.0/tls-1.2',
  covers: ['CORE-2.1.0.9'],
  clause: 'TLS 1.2 or above is used.',
  level: 'MUST',
  modes: ['observe', 'full'],
  sends: 'A TLS handshake that offers nothing above TLS 1.1.',
  expects: 'A refusal.',
  async check(context) {
    const { protocol, hostname, port } = new URL(context.settings.url);
    if (protocol !== 'https:') return skip('the service is reached by plain http');
    const spoken = await handshake(hostname, port === '' ? 443 : Number(port), context.settings.timeoutMs);
    if (spoken === undefined) return pass('a handshake below TLS 1.2 is refused');
    return fail(`the server speaks ${spoken}`, 'Switch off TLS 1.0 and 1.1.');
  },
};

/** The protocol agreed on when at most TLS 1.1 is offered, or undefined when the handshake fails. */
function handshake(host: string, port: number, timeoutMs: number): Promise<string | undefined> {
  return new Promise(resolve => {
    const socket = connect({
      host,
      port,
      servername: host,
      minVersion: 'TLSv1',
      maxVersion: 'TLSv1.1',
      // OpenSSL 3 offers these versions only at its lowest security level.
      ciphers: 'DEFAULT@SECLEVEL=0',
      rejectUnauthorized: false,
    });
    const end = (spoken?: string) => {
      socket.destroy();
      resolve(spoken);
    };
    socket.setTimeout(timeoutMs, () => end());
    socket.once('secureConnect', () => end(socket.getProtocol() ?? 'an unknown protocol'));
    socket.once('error', () => end());
  });
}
