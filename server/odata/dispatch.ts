import { PulsefeedError } from '../base/errors.ts';
import type { EntitySet } from '../edm/entity-set.ts';
import { answerCollection, answerCount } from './collection.ts';
import { answerEntity, answerProperty } from './entity.ts';
import { answerMetadata, answerServiceDocument } from './metadata/answer.ts';
import { checkRequestVersion } from './negotiate.ts';
import type { ODataAnswer, ODataRequest } from './request.ts';
import type { Service } from './service.ts';
import { type PathSegment, parsePath } from './target.ts';

/**
 * Answers one request. Everything that a client may have done wrong is thrown as a registered error and becomes an
 * OData error where the answer is written.
 */
export async function dispatch(service: Service, request: ODataRequest): Promise<ODataAnswer> {
  checkRequestVersion(request.headers['odata-version'], request.body !== undefined);
  const path = parsePath(request.rawPath);
  const [first, second, ...rest] = path;
  if (first === undefined) return onlyRead(request, () => answerServiceDocument(service, request));
  if (first.name === '$metadata' && path.length === 1) {
    return onlyRead(request, () => answerMetadata(service, request));
  }
  const set = service.sets.get(first.name);
  if (set === undefined) throw noSuchResource();
  if (first.key === undefined) return toCollection(service, set, request, second, rest);
  const { key } = first;
  if (second === undefined) return onlyRead(request, () => answerEntity(service, set, key, request));
  return onlyRead(request, () => answerProperty(service, set, key, [second, ...rest], request));
}

async function toCollection(
  service: Service,
  set: EntitySet,
  request: ODataRequest,
  second: PathSegment | undefined,
  rest: readonly PathSegment[],
): Promise<ODataAnswer> {
  if (second === undefined) return onlyRead(request, () => answerCollection(service, set, request));
  if (rest.length > 0 || second.key !== undefined) throw noSuchResource();
  switch (second.name) {
    case '$count':
      return onlyRead(request, () => answerCount(service, set, request));
    case '$query':
      return answerCollection(service, set, queryFromBody(request));
    default:
      throw noSuchResource();
  }
}

/** `POST /Set/$query`: the options that were too long for a URL come in the body (URL Conventions 5.1, Protocol 11.7). */
function queryFromBody(request: ODataRequest): ODataRequest {
  if (request.method !== 'POST') throw methodNotAllowed('POST');
  const type = request.headers['content-type']?.split(';')[0]?.trim().toLowerCase();
  if (type !== 'text/plain' && type !== 'application/x-www-form-urlencoded') {
    throw new PulsefeedError('EE-111', 'Query options in a body are text/plain.', { target: 'Content-Type' });
  }
  const parts = [request.rawQuery, (request.body ?? '').trim()].filter(part => part !== '');
  return { ...request, method: 'GET', rawQuery: parts.join('&'), body: undefined };
}

async function onlyRead(
  request: ODataRequest,
  answer: () => ODataAnswer | Promise<ODataAnswer>,
): Promise<ODataAnswer> {
  if (request.method === 'GET' || request.method === 'HEAD') return answer();
  if (request.method === 'OPTIONS') {
    return {
      status: 204,
      headers: { Allow: readMethods, 'OData-Version': '4.01' },
      body: undefined,
      route: 'options',
    };
  }
  throw methodNotAllowed(readMethods);
}

const readMethods = 'GET, HEAD, OPTIONS';

function methodNotAllowed(allow: string): PulsefeedError {
  return new PulsefeedError('EE-108', `This resource takes ${allow}.`, { headers: { Allow: allow } });
}

function noSuchResource(): PulsefeedError {
  return new PulsefeedError('EE-107', 'There is no such resource.', { target: 'path' });
}
