import { PulsefeedError } from '../base/errors.ts';
import type { EntitySet } from '../edm/entity-set.ts';
import { actionOf, answerAction } from './action.ts';
import { answerCollection, answerCount } from './collection.ts';
import { applyConditions } from './conditional.ts';
import { answerEntity, answerProperty } from './entity.ts';
import { answerMetadata } from './metadata/answer.ts';
import { answerServerOptions, onlyPost, onlyRead } from './methods.ts';
import { allowedMethods, answerChange, answerCreate, isWrite } from './modify.ts';
import { answerRelated, relationOf } from './navigate.ts';
import { settleVersions } from './negotiate.ts';
import { answerOpenApi } from './openapi/answer.ts';
import { readQuery } from './query.ts';
import type { ODataAnswer, ODataRequest } from './request.ts';
import { answerRoot } from './root.ts';
import type { Service } from './service.ts';
import { type PathSegment, parsePath, splitTarget } from './target.ts';

/**
 * Answers one request, of the connection or of a batch. Everything that a client may have done wrong is thrown as a
 * registered error and becomes an OData error where the answer is written.
 */
export async function dispatch(service: Service, request: ODataRequest): Promise<ODataAnswer> {
  const asked = { ...request, headers: settleVersions(request.headers) };
  refuseIsolation(asked);
  if (asked.rawPath === '*') return answerServerOptions(asked);
  const path = parsePath(asked.rawPath);
  const inBody = path.at(-1);
  if (path.length > 1 && inBody?.name === '$query' && inBody.key === undefined) {
    return onlyPost(asked, () => route(service, queryFromBody(asked), path.slice(0, -1)));
  }
  return applyConditions(asked, await route(service, asked, path));
}

async function route(
  service: Service,
  request: ODataRequest,
  path: readonly PathSegment[],
): Promise<ODataAnswer> {
  const [first, second, ...rest] = path;
  if (first === undefined) return onlyRead(request, () => answerRoot(service, request));
  const set = first.name.startsWith('$') ? undefined : service.sets.get(first.name);
  if (set === undefined) return toSystemResource(service, request, first, path.length);
  if (first.key === undefined) return toCollection(service, set, request, second, rest);
  const { key } = first;
  if (second === undefined && isWrite(set, request, true)) return answerChange(service, set, key, request);
  if (second === undefined) {
    return onlyRead(request, () => answerEntity(service, set, key, request), allowedMethods(set, true));
  }
  if (second.name === '$ref' && rest.length === 0) throw notServed('/$ref');
  const action = actionOf(set, second, rest.length);
  if (action !== undefined) return onlyPost(request, () => answerAction(service, set, key, action, request));
  const navigation = relationOf(set, second);
  if (navigation !== undefined) {
    const forward = (on: readonly PathSegment[]) => route(service, request, on);
    return answerRelated(service, set, key, navigation, [second, ...rest], request, forward);
  }
  return onlyRead(request, () => answerProperty(service, set, key, [second, ...rest], request));
}

async function toSystemResource(
  service: Service,
  request: ODataRequest,
  { name, key }: PathSegment,
  length: number,
): Promise<ODataAnswer> {
  if (name === '$crossjoin' || name === '$all' || name === '$root') throw notServed(name);
  if (length > 1 || key !== undefined) throw noSuchResource();
  switch (name) {
    case '$metadata':
      return onlyRead(request, () => answerMetadata(service, request));
    case '$entity':
      return onlyRead(request, () => answerEntityById(service, request));
    case '$batch':
      throw new PulsefeedError('EE-100', 'A batch cannot hold a batch.', { target: 'url' });
    case 'openapi.json':
      return onlyRead(request, () => answerOpenApi(service, request));
    default:
      throw noSuchResource();
  }
}

async function toCollection(
  service: Service,
  set: EntitySet,
  request: ODataRequest,
  second: PathSegment | undefined,
  rest: readonly PathSegment[],
): Promise<ODataAnswer> {
  if (second === undefined && isWrite(set, request, false)) return answerCreate(service, set, request);
  if (second === undefined) {
    return onlyRead(request, () => answerCollection(service, set, request), allowedMethods(set, false));
  }
  if (['$each', '$filter', '$ref'].includes(second.name)) throw notServed(`/${second.name}`);
  if (second.name === set.type.qualifiedName) throw notServed('A cast in the path');
  if (rest.length > 0 || second.key !== undefined) throw noSuchResource();
  switch (second.name) {
    case '$count':
      return onlyRead(request, () => answerCount(service, set, request));
    default:
      throw noSuchResource();
  }
}

/** `POST .../$query`: the options that were too long for a URL come in the body (URL Conventions 5.1, Protocol 11.7). */
function queryFromBody(request: ODataRequest): ODataRequest {
  const type = request.headers['content-type']?.split(';')[0]?.trim().toLowerCase();
  if (type !== 'text/plain' && type !== 'application/x-www-form-urlencoded') {
    throw new PulsefeedError('EE-111', 'Query options in a body are text/plain.', { target: 'Content-Type' });
  }
  const parts = [request.rawQuery, (request.body ?? '').trim()].filter(part => part !== '');
  return { ...request, method: 'GET', rawQuery: parts.join('&'), body: undefined };
}

/** `GET /$entity?$id=...`: the entity behind an id of this service (URL Conventions 4.6). */
async function answerEntityById(service: Service, request: ODataRequest): Promise<ODataAnswer> {
  const query = readQuery(request.rawQuery);
  const id = query.system.get('id');
  if (id === undefined) {
    throw new PulsefeedError('EE-101', 'The id of the entity is missing.', { target: '$id' });
  }
  const { rawPath, rawQuery } = splitTarget(id.value.trim(), request);
  const path = parsePath(rawPath);
  if (path.length !== 1 || path[0]?.key === undefined || rawQuery !== '') {
    throw new PulsefeedError('EE-101', 'The id is not the URL of one entity.', { target: '$id' });
  }
  const rest = query.all.filter(({ raw }) => raw !== id.raw).map(({ raw }) => raw);
  return route(service, { ...request, rawPath, rawQuery: rest.join('&') }, path);
}

/** Every statement has a snapshot of its own; one that spans requests is not offered (Protocol 8.2.6). */
function refuseIsolation({ headers }: ODataRequest): void {
  if (headers.isolation === undefined && headers['odata-isolation'] === undefined) return;
  throw new PulsefeedError('EE-116', 'Isolation across requests is not supported.', { target: 'Isolation' });
}

function notServed(what: string): PulsefeedError {
  return new PulsefeedError('EE-112', `${what} is not served here.`, { target: 'path' });
}

function noSuchResource(): PulsefeedError {
  return new PulsefeedError('EE-107', 'There is no such resource.', { target: 'path' });
}
