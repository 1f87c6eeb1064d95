import { type AgentOptions, Agent as HttpAgent, request as httpRequest } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import { connect as connectTcp, isIP, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { forbidden, hostOf, type TargetGuard } from './target-guard.ts';

/** What connections are made with. */
export interface ConnectOptions {
  readonly guard: TargetGuard;
  /** A proxy that carries everything, by CONNECT; the names are then resolved by it. */
  readonly proxy?: URL;
  /** PEM of further authorities. */
  readonly ca?: string;
  readonly connectTimeoutMs: number;
}

/** How one request connects: a client certificate is part of the pool that a connection is kept in. */
export interface TlsIdentity {
  readonly cert: string;
  readonly key: string;
}

type Done = (error: Error | null, socket?: Socket) => void;

/**
 * Opens a connection to the host of `url` and hands it over only when the address that was really connected is
 * allowed: a name that resolves differently the second time, and an IP literal, which skips the lookup, end here too.
 */
function connectGuarded(
  url: URL,
  identity: TlsIdentity | undefined,
  options: ConnectOptions,
  done: Done,
): void {
  const { guard, proxy } = options;
  const host = hostOf(url);
  const port = Number(url.port || (url.protocol === 'https:' ? 443 : 80));
  const attempt = startAttempt(options.connectTimeoutMs, done);
  // What a proxy connects to is its operator's rule; what the URL itself says is checked here all the same.
  if ((isIP(host) !== 0 && !guard.allows(host, url)) || (proxy !== undefined && !passes(guard, url))) {
    attempt.finish(forbidden());
    return;
  }
  const secured = (raw: Socket) => secure(raw, url, identity, options, attempt);
  if (proxy !== undefined) {
    throughProxy(proxy, `${url.hostname}:${port}`, attempt, secured);
    return;
  }
  const raw = connectTcp({ host, port, lookup: guard.lookup(url) });
  attempt.holds(raw);
  raw.once('error', attempt.finish);
  raw.once('connect', () => {
    if (guard.allows(raw.remoteAddress ?? '', url)) secured(raw);
    else attempt.finish(forbidden());
  });
}

function passes(guard: TargetGuard, url: URL): boolean {
  try {
    guard.checkUrl(url);
    return true;
  } catch {
    return false;
  }
}

/** One attempt to connect: it ends once, in time, and leaves no socket behind when it fails. */
interface Attempt {
  readonly finish: Done;
  readonly holds: (socket: Socket) => void;
}

function startAttempt(timeoutMs: number, done: Done): Attempt {
  let held: Socket | undefined;
  let ended = false;
  const finish: Done = (error, socket) => {
    if (ended) {
      socket?.destroy();
      return;
    }
    ended = true;
    clearTimeout(timer);
    if (error !== null) held?.destroy();
    done(error, socket);
  };
  const timer = setTimeout(() => {
    finish(Object.assign(new Error('connecting took too long'), { code: 'ETIMEDOUT' }));
  }, timeoutMs);
  return {
    finish,
    holds(socket) {
      held = socket;
      if (ended) socket.destroy();
    },
  };
}

/** TLS over the open connection, where the URL asks for it. */
function secure(
  raw: Socket,
  url: URL,
  identity: TlsIdentity | undefined,
  { ca }: ConnectOptions,
  attempt: Attempt,
): void {
  if (url.protocol !== 'https:') {
    raw.removeListener('error', attempt.finish);
    attempt.finish(null, raw);
    return;
  }
  const host = hostOf(url);
  const socket = connectTls({
    socket: raw,
    ALPNProtocols: ['http/1.1'],
    // The name that the certificate must have, also where it is an address.
    host,
    ...(isIP(host) === 0 ? { servername: host } : {}),
    ...(identity ?? {}),
    ...(ca === undefined ? {} : { ca }),
  });
  socket.once('error', attempt.finish);
  socket.once('secureConnect', () => {
    socket.removeListener('error', attempt.finish);
    attempt.finish(null, socket);
  });
}

/** A tunnel to the target through the proxy. */
function throughProxy(proxy: URL, target: string, attempt: Attempt, next: (socket: Socket) => void): void {
  const asked = httpRequest({
    host: proxy.hostname,
    port: proxy.port || 80,
    method: 'CONNECT',
    path: target,
    agent: false,
  });
  asked.once('socket', socket => attempt.holds(socket));
  asked.once('connect', (answer, socket) => {
    attempt.holds(socket);
    socket.once('error', attempt.finish);
    if (answer.statusCode === 200) next(socket);
    else
      attempt.finish(Object.assign(new Error(`the proxy answered ${answer.statusCode}`), { code: 'EPROXY' }));
  });
  asked.once('error', attempt.finish);
  asked.end();
}

/** Kept connections, one pool for each protocol; `close` ends them. */
export interface Agents {
  of(url: URL): HttpAgent;
  close(): void;
}

/** What a request adds to the options that its agent sees, so that a fresh connection knows where it leads. */
export interface GuardedRequest {
  readonly guardedUrl: URL;
  readonly identity: TlsIdentity | undefined;
}

/** Agents whose every connection goes through the guard. @param perHost Connections to one host at a time. */
export function createAgents(options: ConnectOptions, perHost: number): Agents {
  const settings: AgentOptions = {
    keepAlive: true,
    maxSockets: perHost,
    maxFreeSockets: perHost,
    timeout: 60_000,
  };
  const open = (request: unknown, done: unknown) => {
    const { guardedUrl, identity } = request as GuardedRequest;
    connectGuarded(guardedUrl, identity, options, done as Done);
    return undefined as never;
  };
  const plain = new HttpAgent(settings);
  plain.createConnection = open;
  const secure = new HttpsAgent(settings);
  secure.createConnection = open;
  // Node names a pool by host, port and TLS settings; the guard's own members are added.
  const name = secure.getName.bind(secure);
  secure.getName = request =>
    `${name(request)}:${(request as Partial<GuardedRequest> | undefined)?.identity?.cert ?? ''}`;
  return {
    of: url => (url.protocol === 'https:' ? secure : plain),
    close() {
      plain.destroy();
      secure.destroy();
    },
  };
}
