import { createServer } from 'node:net';

/**
 * Asks for the port and gives it back at once: a taken port is better known before a sample is made than after it.
 * True as well when the reason is not that somebody has it; the server then says what it is.
 */
export function portIsFree(host: string, port: number): Promise<boolean> {
  if (port === 0) return Promise.resolve(true);
  return new Promise(resolve => {
    const probe = createServer();
    probe.once('error', error => resolve(!('code' in error && error.code === 'EADDRINUSE')));
    probe.listen(port, host, () => probe.close(() => resolve(true)));
  });
}
