import { PulsefeedError } from '../base/errors.ts';
import type { EntityRow, EntitySet, EntityWriter, WriteRequest } from '../edm/entity-set.ts';
import { matchesTag } from './conditional.ts';
import { keyTexts, noSuchRecord, readUrl } from './entity.ts';
import { type Format, negotiateJson } from './negotiate.ts';
import { planShape } from './plan.ts';
import { parsePreferences } from './preferences.ts';
import { readQuery, refuseUnserved } from './query.ts';
import type { ODataAnswer, ODataRequest } from './request.ts';
import { decorator, entityBody } from './respond.ts';
import type { Service } from './service.ts';

/** Methods that write one entity. */
const entityMethods = ['PATCH', 'PUT', 'DELETE'];

/** True when the request writes an entity of a set, or adds one to it, and the set takes that. */
export function isWrite(set: EntitySet, request: ODataRequest, toEntity: boolean): boolean {
  if (set.write === undefined) return false;
  return toEntity ? entityMethods.includes(request.method) : request.method === 'POST';
}

/** The methods that the set or an entity of it takes, for OPTIONS and 405. */
export function allowedMethods(set: EntitySet, toEntity: boolean): string {
  const reads = 'GET, HEAD, OPTIONS';
  if (set.write === undefined) return reads;
  return toEntity ? `${reads}, PATCH, PUT, DELETE` : `${reads}, POST`;
}

/** `POST /Set` (Protocol 11.4.2, RCP-010): 201 with the record, or 204 with `Prefer: return=minimal`. */
export async function answerCreate(
  service: Service,
  set: EntitySet,
  request: ODataRequest,
): Promise<ODataAnswer> {
  const { writer, format, write } = begin(service, set, request);
  const row = await writer.create(jsonBody(request), write);
  return answerRow(set, request, format, write, row, 'create');
}

/** `PATCH`, `PUT` and `DELETE /Set(key)` (Protocol 11.4.3, 11.4.4, 11.4.5). Nothing is made by them: an unknown key is 404. */
export async function answerChange(
  service: Service,
  set: EntitySet,
  predicate: string,
  request: ODataRequest,
): Promise<ODataAnswer> {
  const { writer, format, write } = begin(service, set, request);
  const key = keyTexts(service, set, predicate, readQuery(request.rawQuery));
  if (request.method === 'DELETE') {
    if (!(await writer.remove(key, write))) throw noSuchRecord(set);
    return { status: 204, headers: { 'OData-Version': format.version }, body: undefined, route: 'delete' };
  }
  const replace = request.method === 'PUT';
  const row = await writer.update(key, jsonBody(request), { ...write, replace });
  if (row === undefined) throw noSuchRecord(set);
  return answerRow(set, request, format, write, row, 'update');
}

function begin(service: Service, set: EntitySet, request: ODataRequest) {
  const writer: EntityWriter | undefined = set.write;
  if (writer === undefined) throw new PulsefeedError('EE-108', `${set.name} is read only.`);
  const query = readQuery(request.rawQuery);
  refuseUnserved(query, ['format', 'select', 'schemaversion']);
  const format = negotiateJson(
    request.headers.accept,
    query.system.get('format')?.value,
    request.headers['odata-maxversion'],
  );
  const preferences = parsePreferences(request.headers.prefer);
  const { 'if-match': ifMatch, 'if-none-match': ifNoneMatch } = request.headers;
  if (ifNoneMatch !== undefined) {
    throw new PulsefeedError('EE-112', 'If-None-Match on a change is not served; send If-Match.', {
      target: 'If-None-Match',
    });
  }
  const write: WriteRequest = {
    viewer: request.viewer,
    shape: planShape(set.type, query, format, preferences, request.root, service),
    ...(ifMatch === undefined ? {} : { matches: (etag: string) => matchesTag(ifMatch, etag) }),
    ...(request.tx === undefined ? {} : { tx: request.tx }),
  };
  return { writer, format, write };
}

function jsonBody(request: ODataRequest): string {
  const type = request.headers['content-type']?.split(';')[0]?.trim().toLowerCase();
  if (type !== 'application/json') {
    throw new PulsefeedError('EE-111', 'A record is written as application/json.', {
      target: 'Content-Type',
    });
  }
  return request.body ?? '';
}

/** Answers with a row that was written. */
export function answerRow(
  set: EntitySet,
  request: ODataRequest,
  format: Format,
  { shape }: Pick<WriteRequest, 'shape'>,
  row: EntityRow,
  route: 'create' | 'update',
): ODataAnswer {
  const { returns } = parsePreferences(request.headers.prefer);
  const shown = returns === undefined ? route === 'create' : returns === 'representation';
  const url = readUrl(request.root, set, row.key);
  const named =
    route === 'create'
      ? { Location: url, 'OData-EntityId': url, EntityId: encodeURIComponent(row.key.join(',')) }
      : { 'OData-EntityId': url };
  const headers = {
    'OData-Version': format.version,
    ...named,
    ...(row.etag === undefined ? {} : { ETag: row.etag }),
    ...(returns === undefined ? {} : { 'Preference-Applied': `return=${returns}` }),
  };
  if (!shown) return { status: 204, headers, body: undefined, route };
  const select = shape.select === undefined ? '' : `(${shape.select.join(',')})`;
  const context = `${request.root}/$metadata#${set.name}${select}/$entity`;
  return {
    status: route === 'create' ? 201 : 200,
    headers: { ...headers, 'Content-Type': format.contentType },
    body: entityBody(
      row,
      context,
      format,
      decorator(format, set.type, shape, key => readUrl(request.root, set, key)),
    ),
    route,
    rows: 1,
  };
}
