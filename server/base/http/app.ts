import { randomUUID } from 'node:crypto';
import compression from 'compression';
import cors from 'cors';
import express, { type Express, type NextFunction, type Request, type Response, type Router } from 'express';
import helmet from 'helmet';
import { PulsefeedError } from '../errors.ts';
import type { Observe } from '../observe.ts';
import { errorAnswer } from './error-body.ts';

/** Facts about one request that its handlers fill in and the one log line tells. */
export interface RequestFacts {
  readonly requestId: string;
  /** Which kind of request this was, such as `collection` or `ingest`: bounded, for metrics. */
  route: string;
  rows: number | undefined;
  errorCode: string | undefined;
  /** Faults of ours that were answered inside a body, such as a member of a batch: each is told as if it failed alone. */
  readonly innerFaults: unknown[];
}

/** The facts of the request that this response answers. */
export function factsOf(response: Response): RequestFacts {
  return response.locals.facts as RequestFacts;
}

export interface HttpAppOptions {
  readonly observe: Observe;
  readonly trustProxy: string;
  readonly corsOrigins: readonly string[];
  /** Milliseconds, injected. */
  readonly now: () => number;
}

/** Bodies below this many bytes are not compressed: the headers would outweigh what is saved. */
const compressFromBytes = 1_024;

const exposedHeaders = [
  'OData-Version',
  'OData-EntityId',
  'EntityId',
  'Location',
  'Preference-Applied',
  'Retry-After',
  'ETag',
  'X-Request-Id',
];

/**
 * An Express application with what every route shares: request id, security headers, CORS, compression, one
 * observation a request, errors as OData errors. Routers are mounted in their order; what none takes is a 404.
 */
export function createHttpApp(options: HttpAppOptions, routers: readonly Router[]): Express {
  const app = express();
  app.disable('x-powered-by');
  app.set('etag', false);
  app.set('query parser', false);
  app.set('trust proxy', trustProxySetting(options.trustProxy));
  app.use(observeRequest(options));
  app.use(securityHeaders());
  app.use(requireHost);
  if (options.corsOrigins.length > 0) {
    const origin = options.corsOrigins.includes('*') ? '*' : [...options.corsOrigins];
    // OPTIONS without a preflight header belongs to the routes, which know their methods.
    const handler = cors({ origin, exposedHeaders, maxAge: 86_400 });
    app.use((request, response, next) => {
      const preflight = request.headers['access-control-request-method'] !== undefined;
      if (request.method === 'OPTIONS' && !preflight) return next();
      if (request.method === 'OPTIONS') response.setHeader('OData-Version', '4.01');
      return handler(request, response, next);
    });
  }
  app.use(compression({ threshold: compressFromBytes }));
  for (const router of routers) app.use(router);
  app.use(() => {
    throw new PulsefeedError('EE-107', 'There is no such resource.', { target: 'path' });
  });
  app.use(answerError(options.observe));
  return app;
}

const hstsSeconds = 31_536_000;

/**
 * Nothing that this service sends may load or run anything; a page that wants more says so itself. Neither
 * `upgrade-insecure-requests` nor HSTS is sent over plain http, where they would break the page's own links.
 */
function securityHeaders() {
  const headers = helmet({
    crossOriginResourcePolicy: { policy: 'cross-origin' },
    contentSecurityPolicy: {
      useDefaults: false,
      directives: { defaultSrc: ["'none'"], baseUri: ["'none'"], frameAncestors: ["'none'"] },
    },
    strictTransportSecurity: false,
  });
  return (request: Request, response: Response, next: NextFunction): void => {
    if (request.secure) response.setHeader('Strict-Transport-Security', `max-age=${hstsSeconds}`);
    headers(request, response, next);
  };
}

/** Node's own check for a Host would answer without a body. */
function requireHost(request: Request, _response: Response, next: NextFunction): void {
  if (request.headers.host === undefined && request.httpVersion !== '1.0') {
    throw new PulsefeedError('EE-100', 'HTTP/1.1 requires a Host header.', { target: 'Host' });
  }
  next();
}

function observeRequest({ observe, now }: HttpAppOptions) {
  return (request: Request, response: Response, next: NextFunction): void => {
    const startedAt = now();
    const facts: RequestFacts = {
      requestId: acceptedId(request.headers['x-request-id']) ?? randomUUID(),
      route: 'none',
      rows: undefined,
      errorCode: undefined,
      innerFaults: [],
    };
    response.locals.facts = facts;
    response.setHeader('X-Request-Id', facts.requestId);
    response.once('close', () => {
      for (const error of facts.innerFaults)
        observe({ kind: 'RequestFailed', requestId: facts.requestId, error });
      observe({
        kind: 'RequestServed',
        requestId: facts.requestId,
        method: request.method,
        path: request.path,
        route: facts.route,
        status: response.writableFinished ? response.statusCode : 499,
        ms: now() - startedAt,
        rows: facts.rows,
        errorCode: facts.errorCode,
      });
    });
    next();
  };
}

/** A request id of the caller's is kept when it is short and plain, so that a log line cannot be forged by it. */
function acceptedId(header: string | string[] | undefined): string | undefined {
  return typeof header === 'string' && /^[A-Za-z0-9._-]{1,64}$/.test(header) ? header : undefined;
}

/** Sends an error as an OData error; one that comes after the first byte cuts the connection, never a short page. */
export function sendError(response: Response, error: unknown, observe: Observe): void {
  const answer = errorAnswer(error);
  const facts = factsOf(response);
  facts.errorCode = answer.code;
  if (answer.status >= 500 && answer.status !== 501) {
    observe({ kind: 'RequestFailed', requestId: facts.requestId, error });
  }
  if (response.headersSent) {
    response.destroy();
    return;
  }
  for (const name of ['ETag', 'Content-Encoding', 'Content-Length', 'Preference-Applied'])
    response.removeHeader(name);
  response.status(answer.status);
  for (const [name, value] of Object.entries(answer.headers)) response.setHeader(name, value);
  if (!response.hasHeader('OData-Version')) response.setHeader('OData-Version', '4.01');
  response.setHeader('Content-Type', 'application/json;odata.metadata=minimal');
  response.setHeader('Content-Language', 'en');
  response.setHeader('Cache-Control', 'no-store');
  const bytes = Buffer.from(answer.body);
  response.setHeader('Content-Length', bytes.length);
  response.end(bytes);
}

function answerError(observe: Observe) {
  // Express tells an error handler by its four parameters.
  return (error: unknown, _request: Request, response: Response, _next: NextFunction): void =>
    sendError(response, error, observe);
}

function trustProxySetting(value: string): boolean | number | string {
  if (value === 'true') return true;
  if (value === 'false' || value === '') return false;
  return /^\d+$/.test(value) ? Number(value) : value;
}
