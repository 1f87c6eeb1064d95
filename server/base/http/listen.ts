import { createServer, type Server, STATUS_CODES } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import type { Express, Request } from 'express';
import { PulsefeedError } from '../errors.ts';
import { type ErrorAnswer, errorAnswer } from './error-body.ts';

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
      // The application answers for it, with a body.
      requireHostHeader: false,
    },
    app,
  );
  server.on('clientError', (error, socket: Socket) => refuse(error, socket, options.maxHeaderBytes));
  // An expectation that is not known is passed over, where Node would answer 417 without a body.
  server.on('checkExpectation', (request, response) => server.emit('request', request, response));
  server.on('connect', (_request, socket: Socket) => {
    const error = new PulsefeedError('EE-108', 'This server is not a proxy.', {
      headers: { Allow: 'GET, HEAD, OPTIONS, POST' },
    });
    sendRaw(socket, errorAnswer(error));
  });
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

/** What Node's parser could not take: malformed, too large or too slow. */
function refuse(
  error: NodeJS.ErrnoException & { rawPacket?: Buffer },
  socket: Socket & { _httpMessage?: unknown },
  maxHeaderBytes: number,
): void {
  if (
    error.code === 'ECONNRESET' ||
    !socket.writable ||
    (socket.bytesWritten > 0 && socket._httpMessage != null)
  ) {
    socket.destroy();
    return;
  }
  const answer = errorAnswer(refusalOf(error, maxHeaderBytes));
  sendRaw(socket, answer, error.code === 'ERR_HTTP_REQUEST_TIMEOUT' ? 408 : answer.status);
}

function refusalOf(
  { code, rawPacket }: { code?: string | undefined; rawPacket?: Buffer },
  maxHeaderBytes: number,
): PulsefeedError {
  if (code === 'HPE_HEADER_OVERFLOW') {
    // The parser does not tell which of the two it was reading; a first line that fills the room alone was the URL.
    const [line = ''] = (rawPacket ?? Buffer.alloc(0)).toString('latin1').split('\n', 1);
    return /^[A-Z]+ /.test(line) && line.length >= maxHeaderBytes
      ? new PulsefeedError('EE-115', 'The URL is longer than this service takes.')
      : new PulsefeedError('EE-117', 'The request line and headers are larger than this service takes.');
  }
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') {
    return new PulsefeedError('EE-100', 'The request did not arrive in time.');
  }
  return new PulsefeedError('EE-100', 'The request is not valid HTTP/1.1.');
}

/** Answers on the bare socket, where there is no response object. */
function sendRaw(socket: Socket, answer: ErrorAnswer, status = answer.status): void {
  const headers = {
    'Content-Type': 'application/json;odata.metadata=minimal',
    'Content-Language': 'en',
    'OData-Version': '4.01',
    'X-Content-Type-Options': 'nosniff',
    'Content-Length': String(Buffer.byteLength(answer.body)),
    Connection: 'close',
    ...answer.headers,
  };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\n${lines.join('')}\r\n${answer.body}`);
}

/**
 * The root under which the client reached us, without a slash at its end: configured, or told by the request.
 * X-Forwarded-* counts only as far as the `trust proxy` setting believes the sender, which Express decides.
 * X-Forwarded-Port is never believed: proxies behind a TLS end put their own inner port there.
 */
export function serviceRoot(request: Request, publicUrl: string | undefined): string {
  if (publicUrl !== undefined) return publicUrl.replace(/\/+$/, '');
  const trusted = (request.app.get('trust proxy fn') as (address: string, hop: number) => boolean)(
    request.socket.remoteAddress ?? '',
    0,
  );
  const prefix = trusted ? request.get('x-forwarded-prefix')?.split(',')[0]?.trim() : undefined;
  // A Host that is not one would end up in links.
  const host = /^(?:[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(?::\d{1,5})?$/.test(request.host ?? '')
    ? request.host
    : `localhost:${request.socket.localPort ?? 80}`;
  const scheme = request.protocol === 'https' ? 'https' : 'http';
  return `${scheme}://${host}${prefixPath(prefix)}`;
}

function prefixPath(prefix: string | undefined): string {
  const path = (prefix ?? '').replace(/\/+$/, '');
  return /^(?:\/(?!\.{1,2}(?:\/|$))[\w.~-]+)+$/.test(path) ? path : '';
}
