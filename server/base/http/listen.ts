import { createServer, type Server, STATUS_CODES } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import type { Express, Request } from 'express';
import { PulsefeedError } from '../errors.ts';
import { errorAnswer } from './error-body.ts';

export interface ListenOptions {
  readonly host: string;
  readonly port: number;
  readonly maxHeaderBytes: number;
  readonly requestTimeoutMs: number;
}

/** A listening server. */
export interface HttpServer {
  readonly url: string;
  readonly port: number;
  /** Stops accepting, lets requests in flight end, and cuts what is left after `graceMs`. */
  stop(graceMs: number): Promise<void>;
}

const keepAliveMs = 65_000;

/**
 * Listens. A request that Node itself refuses (malformed, headers too large, too slow) still gets an OData error.
 * @throws the errno of listen(2), such as EADDRINUSE.
 */
export async function listenHttp(app: Express, options: ListenOptions): Promise<HttpServer> {
  const server = createServer(
    {
      maxHeaderSize: options.maxHeaderBytes,
      requestTimeout: options.requestTimeoutMs,
      headersTimeout: options.requestTimeoutMs,
      keepAliveTimeout: keepAliveMs,
      connectionsCheckingInterval: 1_000,
    },
    app,
  );
  server.on('clientError', refuse);
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(options.port, options.host, () => {
      server.off('error', reject);
      resolve();
    });
  });
  const { port } = server.address() as AddressInfo;
  const host = options.host.includes(':') ? `[${options.host}]` : options.host;
  return { url: `http://${host}:${port}`, port, stop: graceMs => stop(server, graceMs) };
}

function stop(server: Server, graceMs: number): Promise<void> {
  // A kept-alive connection that is busy now must not be given another request after this answer.
  server.on('request', (_request, response) => response.setHeader('Connection', 'close'));
  return new Promise((resolve, reject) => {
    const cut = setTimeout(() => server.closeAllConnections(), graceMs);
    server.close(error => {
      clearTimeout(cut);
      if (error === undefined) resolve();
      else reject(error);
    });
    server.closeIdleConnections();
  });
}

function refuse(error: NodeJS.ErrnoException, socket: Socket & { _httpMessage?: unknown }): void {
  if (
    error.code === 'ECONNRESET' ||
    !socket.writable ||
    (socket.bytesWritten > 0 && socket._httpMessage != null)
  ) {
    socket.destroy();
    return;
  }
  const refusal =
    error.code === 'HPE_HEADER_OVERFLOW'
      ? new PulsefeedError('EE-117', 'The request line and headers are larger than this service takes.')
      : new PulsefeedError('EE-100', 'The request is not valid HTTP/1.1.');
  const timeout = error.code === 'ERR_HTTP_REQUEST_TIMEOUT';
  const answer = errorAnswer(refusal);
  const status = timeout ? 408 : answer.status;
  socket.end(
    `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\nContent-Type: application/json;odata.metadata=minimal\r\n` +
      `OData-Version: 4.01\r\nContent-Length: ${Buffer.byteLength(answer.body)}\r\nConnection: close\r\n\r\n${answer.body}`,
  );
}

/**
 * The root under which the client reached us, without a slash at its end: configured, or told by the request.
 * X-Forwarded-* counts only as far as the `trust proxy` setting believes the sender, which Express decides.
 */
export function serviceRoot(request: Request, publicUrl: string | undefined): string {
  if (publicUrl !== undefined) return publicUrl.replace(/\/+$/, '');
  const trusted = (request.app.get('trust proxy fn') as (address: string, hop: number) => boolean)(
    request.socket.remoteAddress ?? '',
    0,
  );
  const prefix = trusted ? request.get('x-forwarded-prefix')?.split(',')[0]?.trim() : undefined;
  // A Host that is not one would end up in links.
  const host = /^[A-Za-z0-9.:[\]_-]{1,255}$/.test(request.host ?? '') ? request.host : 'localhost';
  return `${request.protocol}://${host}${/^\/[\w./~-]*$/.test(prefix ?? '') ? (prefix ?? '').replace(/\/+$/, '') : ''}`;
}
