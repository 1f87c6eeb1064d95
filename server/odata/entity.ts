import { PulsefeedError } from '../base/errors.ts';
import type { EntityRow, EntitySet, ShapePlan } from '../edm/entity-set.ts';
import {
  bindKey,
  decimalText,
  isNavigation,
  type NavigationProperty,
  type Property,
  parseKeyPredicate,
  type QueryOptions,
} from '../edm/index.ts';
import { selectList } from './expand.ts';
import { acceptsText, type Format, negotiateJson } from './negotiate.ts';
import { planShape } from './plan.ts';
import { parsePreferences } from './preferences.ts';
import { readQuery, refuseUnserved, refusing } from './query.ts';
import type { ODataAnswer, ODataRequest } from './request.ts';
import { decorator, entityBody } from './respond.ts';
import type { Service } from './service.ts';
import { encodeStringKey, type PathSegment } from './target.ts';

/** `GET /Set(key)` (Protocol 11.2.2). Unknown, gone and hidden are one and the same 404. */
export async function answerEntity(
  service: Service,
  set: EntitySet,
  predicate: string,
  request: ODataRequest,
): Promise<ODataAnswer> {
  const query = readQuery(request.rawQuery);
  refuseUnserved(query, ['expand', 'format', 'select', 'schemaversion']);
  const format = formatOf(request, query);
  const preferences = parsePreferences(request.headers.prefer);
  const shape = planShape(set.type, query, format, preferences, request.root, service);
  const row = await find(service, set, predicate, query, shape, request);
  const context = `${request.root}/$metadata#${set.name}${selectList(shape)}/$entity`;
  const decorate = decorator(format, set.type, shape, key => readUrl(request.root, set, key));
  return {
    status: 200,
    headers: {
      'OData-Version': format.version,
      'Content-Type': format.contentType,
      Vary: 'Accept, Prefer, OData-MaxVersion',
      // The tag is the record's own: what is expanded may change without it.
      ...(row.etag === undefined || shape.expand.length > 0 ? {} : { ETag: row.etag }),
      ...(shape.omitNulls ? { 'Preference-Applied': 'omit-values=nulls' } : {}),
    },
    body: entityBody(row, context, format, decorate),
    route: 'entity',
    rows: 1,
  };
}

/** `GET /Set(key)/Property`, `/Property/$value` and `/Collection/$count` (Protocol 11.2.4, 11.2.10). */
export async function answerProperty(
  service: Service,
  set: EntitySet,
  predicate: string,
  path: readonly PathSegment[],
  request: ODataRequest,
): Promise<ODataAnswer> {
  const [first, second] = path;
  if (first?.name === '$value' && path.length === 1) {
    throw new PulsefeedError('EE-100', `${set.type.name} is not a media entity.`, { target: 'path' });
  }
  const member = set.type.members.get(first?.name ?? '');
  const raw = second?.name === '$value';
  const counts = second?.name === '$count' && member !== undefined && isCollection(member);
  const plain = path.every(({ key }) => key === undefined) && path.length === (raw || counts ? 2 : 1);
  if (member === undefined || isNavigation(member) || !plain) {
    throw new PulsefeedError('EE-107', 'There is no such resource.', { target: 'path' });
  }
  const query = readQuery(request.rawQuery);
  refuseUnserved(query, ['format']);
  const format = raw || counts ? rawFormat(request, query) : formatOf(request, query);
  const shape: ShapePlan = {
    root: request.root,
    select: [member.name],
    expand: [],
    ieee754: format.ieee754,
    omitNulls: false,
  };
  const row = await find(service, set, predicate, query, shape, request);
  const headers = {
    'OData-Version': format.version,
    Vary: 'Accept, OData-MaxVersion',
    ...(row.etag === undefined ? {} : { ETag: row.etag }),
  };
  // The row has one member: what stands behind its name is the value as it was written.
  const json = row.json.slice(row.json.indexOf(':') + 1, -1).trim();
  if (counts) return countAnswer(json, headers);
  if (json === 'null') return { status: 204, headers, body: undefined, route: 'property' };
  if (raw) {
    const text = json.startsWith('"') ? (JSON.parse(json) as string) : json;
    return {
      status: 200,
      headers: { ...headers, 'Content-Type': 'text/plain;charset=utf-8' },
      body: text,
      route: 'property',
    };
  }
  const url = readUrl('', set, row.key).slice(1);
  const context =
    format.metadata === 'none'
      ? ''
      : `"${format.prefix}context":${JSON.stringify(`${request.root}/$metadata#${url}/${member.name}`)},`;
  return {
    status: 200,
    headers: { ...headers, 'Content-Type': format.contentType },
    body: `{${context}"value":${json}}`,
    route: 'property',
    rows: 1,
  };
}

/** `/Collection/$count` of a property (Protocol 11.2.10); a collection that is null has no members. */
function countAnswer(json: string, headers: ODataAnswer['headers']): ODataAnswer {
  const members = JSON.parse(json) as readonly unknown[] | null;
  return {
    status: 200,
    headers: { ...headers, 'Content-Type': 'text/plain' },
    body: String(members?.length ?? 0),
    route: 'count',
  };
}

function isCollection(member: Property | NavigationProperty): boolean {
  return !isNavigation(member) && member.type.kind === 'collection';
}

/** A raw value is text: `$format` has nothing to choose, `Accept` must leave room for it (Protocol 11.2.4.1). */
function rawFormat(request: ODataRequest, query: QueryOptions): Format {
  if (query.system.has('format')) {
    throw new PulsefeedError('EE-109', 'A raw value has one format.', { target: '$format' });
  }
  if (!acceptsText(request.headers.accept)) {
    throw new PulsefeedError('EE-109', 'A raw value is served as text/plain.', { target: 'Accept' });
  }
  return negotiateJson(undefined, undefined, request.headers['odata-maxversion']);
}

async function find(
  service: Service,
  set: EntitySet,
  predicate: string,
  query: QueryOptions,
  shape: ShapePlan,
  request: ODataRequest,
): Promise<EntityRow> {
  const key = keyTexts(service, set, predicate, query);
  const row = await set.readOne(key, shape, request.viewer);
  if (row === undefined) {
    throw noSuchRecord(set);
  }
  return row;
}

/** One answer for what never was, is gone or is hidden. */
export function noSuchRecord(set: EntitySet): PulsefeedError {
  return new PulsefeedError('EE-107', 'There is no such record, or it is not visible to you.', {
    target: set.name,
  });
}

/** The key values as text. @throws EE-101 when they do not fit the key. */
export function keyTexts(service: Service, set: EntitySet, predicate: string, query: QueryOptions): string[] {
  return refusing('key', () =>
    bindKey(parseKeyPredicate(predicate), set.type, { model: service.model, aliases: query.aliases }),
  ).map(({ value }) => {
    switch (value.kind) {
      case 'string':
      case 'guid':
        return value.value;
      case 'number':
        return decimalText(value.value);
      default:
        throw new PulsefeedError('EE-112', 'Keys of this type are not served.', { target: 'key' });
    }
  });
}

/** The URL that reads an entity, its key quoted as its type wants and percent-encoded. */
export function readUrl(root: string, set: EntitySet, key: readonly string[]): string {
  const texts = set.type.key.map((name, index) => {
    const text = key[index] ?? '';
    const type = set.type.properties.find(property => property.name === name)?.type;
    const string = type?.kind === 'primitive' && type.name === 'Edm.String';
    const value = string ? encodeStringKey(text) : encodeURIComponent(text);
    return set.type.key.length > 1 ? `${name}=${value}` : value;
  });
  return `${root}/${set.name}(${texts.join(',')})`;
}

function formatOf(request: ODataRequest, query: QueryOptions): Format {
  return negotiateJson(
    request.headers.accept,
    query.system.get('format')?.value,
    request.headers['odata-maxversion'],
  );
}
