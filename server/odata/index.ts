import { type Request, type Response, Router } from 'express';
import { anonymous } from '../base/auth/viewer.ts';
import type { Settings } from '../base/config/index.ts';
import { factsOf } from '../base/http/app.ts';
import { readText } from '../base/http/body.ts';
import { serviceRoot } from '../base/http/listen.ts';
import type { EntitySet } from '../edm/entity-set.ts';
import type { EventLog } from '../log/index.ts';
import { dispatch } from './dispatch.ts';
import { entityEventSet } from './entity-event.ts';
import { recordUrlTemplate } from './record-url.ts';
import type { ODataAnswer, ODataRequest } from './request.ts';
import { createService } from './service.ts';
import { tokenCodec } from './skip-token.ts';

/** What the service is made of. */
export interface ODataOptions {
  readonly log: EventLog;
  /** The record resources. */
  readonly sets: readonly EntitySet[];
  readonly tokenKey: string;
  readonly settings: Pick<
    Settings,
    'pageSize' | 'maxPageSize' | 'maxBodyBytes' | 'publicUrl' | 'resourceRecordUrl'
  >;
}

/** The OData service: the feed, the records, their metadata. Takes every path that no router before it took. */
export function odataRouter({ log, sets, tokenKey, settings }: ODataOptions): Router {
  const served = new Map(sets.map(set => [set.name, { keyIsString: hasStringKey(set) }]));
  const events = entityEventSet(log, recordUrlTemplate(settings.resourceRecordUrl, served));
  const service = createService(
    [events, ...sets],
    tokenCodec(tokenKey),
    { standard: settings.pageSize, most: settings.maxPageSize },
    settings.maxBodyBytes,
  );
  const router = Router();
  router.use(async (request, response) => {
    const answer = await dispatch(service, await toODataRequest(request, settings));
    send(request, response, answer);
  });
  return router;
}

function hasStringKey(set: EntitySet): boolean {
  const property = set.type.properties.find(({ name }) => name === set.type.key[0]);
  return property?.type.kind === 'primitive' && property.type.name === 'Edm.String';
}

async function toODataRequest(
  request: Request,
  settings: Pick<Settings, 'publicUrl' | 'maxBodyBytes'>,
): Promise<ODataRequest> {
  // The raw target: Express would fold repeated options and turn plus signs and encodings into something else.
  const [rawPath = '', ...query] = request.url.split('?');
  return {
    method: request.method,
    rawPath,
    rawQuery: query.join('?'),
    headers: singleHeaders(request),
    body: await readText(request, settings.maxBodyBytes),
    root: serviceRoot(request, settings.publicUrl),
    viewer: anonymous,
  };
}

function singleHeaders(request: Request): Record<string, string | undefined> {
  return Object.fromEntries(
    Object.entries(request.headers).map(([name, value]) => [
      name,
      Array.isArray(value) ? value.join(', ') : value,
    ]),
  );
}

function send(request: Request, response: Response, answer: ODataAnswer): void {
  const facts = factsOf(response);
  facts.route = answer.route;
  facts.rows = answer.rows;
  const { ETag: etag } = answer.headers;
  response.status(answer.status);
  for (const [name, value] of Object.entries(answer.headers)) {
    // compression and CORS add to Vary what they vary by.
    if (name === 'Vary') response.vary(value);
    else response.setHeader(name, value);
  }
  if (etag !== undefined && matches(request.headers['if-none-match'], etag)) {
    response.status(304).end();
    return;
  }
  if (answer.body === undefined) {
    response.end();
    return;
  }
  const bytes = Buffer.from(answer.body, 'utf8');
  response.setHeader('Content-Length', bytes.length);
  response.end(request.method === 'HEAD' ? undefined : bytes);
}

/** Weak comparison (RFC 9110, 13.1.2); a header that is no list of tags matches nothing. */
function matches(header: string | undefined, etag: string): boolean {
  if (header === undefined) return false;
  if (header.trim() === '*') return true;
  const opaque = (tag: string) => tag.trim().replace(/^W\//, '');
  return header.split(',').some(tag => opaque(tag) === opaque(etag));
}
