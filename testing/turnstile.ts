import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/**
 * An HTTP proxy on loopback that holds every request until it is told to let one through, so that a test decides what
 * happens between two requests of a client.
 */
export interface Turnstile {
  readonly url: string;
  /** Requests that are held. */
  readonly waiting: number;
  /** Lets the oldest held request through; resolves when its answer has been sent, or its client has gone. */
  pass(): Promise<void>;
  /** Resolves when a request is held or `ended` resolves, whichever comes first. */
  untilHeld(ended: Promise<unknown>): Promise<void>;
  close(): Promise<void>;
}

interface Held {
  readonly asked: IncomingMessage;
  readonly answer: ServerResponse;
}

/** Opens a turnstile in front of a server. */
export async function openTurnstile(target: string): Promise<Turnstile> {
  const held: Held[] = [];
  let arrived: (() => void) | undefined;
  const server = createServer((asked, answer) => {
    const entry = { asked, answer };
    held.push(entry);
    answer.once('close', () => {
      const at = held.indexOf(entry);
      if (at >= 0) held.splice(at, 1);
    });
    arrived?.();
  });
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    get waiting() {
      return held.length;
    },
    async pass() {
      const next = held.shift();
      if (next !== undefined) await forward(next, target);
    },
    async untilHeld(ended) {
      if (held.length > 0) return;
      const arrival = new Promise<void>(resolve => {
        arrived = resolve;
      });
      await Promise.race([arrival, ended]);
      arrived = undefined;
    },
    async close() {
      server.closeAllConnections();
      await new Promise(resolve => server.close(resolve));
    },
  };
}

/** Sends a request on and its answer back; a server that breaks off breaks the client's connection too. */
function forward({ asked, answer }: Held, target: string): Promise<void> {
  return new Promise(resolve => {
    answer.once('close', resolve);
    if (answer.destroyed) resolve();
    const onward = request(new URL(asked.url ?? '/', target), {
      method: asked.method ?? 'GET',
      headers: { ...asked.headers },
    });
    onward.once('response', response => {
      answer.writeHead(response.statusCode ?? 502, response.headers);
      response.pipe(answer);
    });
    onward.once('error', () => answer.destroy());
    asked.pipe(onward);
  });
}
