import { PulsefeedError } from '../base/errors.ts';
import type { EntityPage, EntitySet } from '../edm/entity-set.ts';
import type { QueryOptions, SystemOption, TypedValue } from '../edm/index.ts';
import { readUrl } from './entity.ts';
import { negotiateJson, negotiateVersion } from './negotiate.ts';
import {
  allOf,
  planCollection,
  planFilter,
  queryDigest,
  type RequestPlan,
  sinceFilter,
  type Within,
} from './plan.ts';
import { type Preferences, parsePreferences } from './preferences.ts';
import { refuseUnserved } from './query.ts';
import type { ODataAnswer, ODataRequest } from './request.ts';
import { collectionBody, decorator } from './respond.ts';
import type { Service } from './service.ts';
import { invalidToken } from './skip-token.ts';
import { deltaToken, nextToken, resumeQuery, scannedTo, walkLink } from './walk.ts';

/** `GET /Set`: one page (Protocol 11.2.6), or with a deltatoken the changes since (Protocol 11.3). */
export async function answerCollection(
  service: Service,
  set: EntitySet,
  request: ODataRequest,
  within?: Within,
): Promise<ODataAnswer> {
  const resumed = resumeQuery(service, request.rawQuery);
  const { query } = resumed;
  const format = negotiateJson(
    request.headers.accept,
    query.system.get('format')?.value,
    request.headers['odata-maxversion'],
  );
  const preferences = parsePreferences(request.headers.prefer);
  const plan = planCollection(set, resumed, format, preferences, request.root, service, within);
  const collection = within?.url ?? `${request.root}/${set.name}`;
  const page = await readPage(set, plan, request, () => beginning(set, collection, plan, query));
  const body = collectionBody(
    page,
    {
      contextUrl: `${request.root}/$metadata#${set.name}${plan.contextSuffix}`,
      ...links(service, collection, query, plan, page),
      annotations: annotations(plan, page, preferences),
    },
    format,
    decorator(format, set.type, plan.page, key => readUrl(request.root, set, key)),
  );
  return {
    status: 200,
    headers: {
      'OData-Version': format.version,
      'Content-Type': format.contentType,
      Vary: 'Accept, Prefer, OData-MaxVersion',
      ...appliedPreferences(plan, page, preferences),
    },
    body,
    route: 'collection',
    rows: page.rows.length,
  };
}

/** A position that is gone is answered with where to begin again (Protocol 11.3.1). @throws EE-105, with Location where there is one. */
async function readPage(
  set: EntitySet,
  plan: RequestPlan,
  request: ODataRequest,
  beginning: () => string | undefined,
): Promise<EntityPage> {
  try {
    return await set.readPage(plan.page, request.viewer);
  } catch (error) {
    if (!(error instanceof PulsefeedError) || error.code !== 'EE-105') throw error;
    const { message } = error;
    const target = plan.token === undefined ? error.target : `$${plan.token.use}token`;
    const location = beginning();
    throw new PulsefeedError('EE-105', message, {
      ...(target === undefined ? {} : { target }),
      headers: { ...error.headers, ...(location === undefined ? {} : { Location: location }) },
      cause: error,
    });
  }
}

/** The request without its position, which a filter on the key alone is too; a filter that says more is the client's to rewrite. */
function beginning(
  set: EntitySet,
  collection: string,
  plan: RequestPlan,
  query: QueryOptions,
): string | undefined {
  const { filter } = plan.page;
  const ofKey = (part: TypedValue): boolean =>
    part.kind === 'and'
      ? part.operands.every(ofKey)
      : part.kind === 'compare' && part.left.kind === 'field' && part.left.property.name === set.type.key[0];
  if (filter !== undefined && !ofKey(filter)) return undefined;
  const dropped: readonly SystemOption[] = ['skiptoken', 'deltatoken', 'skip', 'filter'];
  const gone = dropped.map(name => query.system.get(name)?.raw);
  const kept = query.all.map(({ raw }) => raw).filter(raw => !gone.includes(raw));
  const options = filter === undefined ? kept : [...kept, `$filter=${set.type.key[0]}%20ge%200`];
  return options.length === 0 ? collection : `${collection}?${options.join('&')}`;
}

function links(
  service: Service,
  collection: string,
  query: QueryOptions,
  plan: RequestPlan,
  page: EntityPage,
): { nextLink?: string; deltaLink?: string } {
  const next = nextToken(plan, page);
  if (next !== undefined) return { nextLink: walkLink(service, collection, query, next) };
  const delta = deltaToken(plan, page);
  return delta === undefined ? {} : { deltaLink: walkLink(service, collection, query, delta) };
}

/** What a count is not affected by, and so may be sent with it (Protocol 11.2.10). */
const withoutEffect = ['count', 'expand', 'orderby', 'select', 'skip', 'top'] as const;

/** `GET /Set/$count`: digits as text (Protocol 11.2.10); with a deltatoken the number of changes (11.3.2). */
export async function answerCount(
  service: Service,
  set: EntitySet,
  request: ODataRequest,
  within?: Within,
): Promise<ODataAnswer> {
  const { query, token } = resumeQuery(service, request.rawQuery);
  refuseUnserved(query, ['deltatoken', 'filter', 'format', 'schemaversion', ...withoutEffect]);
  if (token !== undefined && token.query !== queryDigest(service.codec, set, query, within)) {
    throw invalidToken(token.use);
  }
  const { version } = negotiateVersion(request.headers['odata-maxversion']);
  const since = token?.after[0];
  const filter = allOf([
    within?.filter,
    planFilter(set.type, service.model, query),
    since == null ? undefined : sinceFilter(set.type, since),
  ]);
  const count = await set.count(filter, request.viewer);
  return {
    status: 200,
    headers: { 'OData-Version': version, 'Content-Type': 'text/plain', Vary: 'OData-MaxVersion' },
    body: count.toString(),
    route: 'count',
  };
}

function annotations(
  plan: RequestPlan,
  page: EntityPage,
  preferences: Preferences,
): Record<string, bigint | number> {
  const { head, epoch } = page;
  if (head === undefined || epoch === undefined) return {};
  if (!preferences.includeAnnotations && page.rows.length > 0) return {};
  return {
    'pulsefeed.head': head,
    ...(plan.keyOrder ? { 'pulsefeed.scannedTo': scannedTo(plan, page) } : {}),
    'pulsefeed.epoch': epoch,
  };
}

function appliedPreferences(
  plan: RequestPlan,
  page: EntityPage,
  preferences: Preferences,
): Record<string, string> {
  const tracks = plan.tracking !== undefined && plan.token === undefined && page.head !== undefined;
  const applied = [
    preferences.maxPageSize === undefined ? '' : `maxpagesize=${plan.page.limit}`,
    preferences.omitNulls ? 'omit-values=nulls' : '',
    tracks ? 'track-changes' : '',
    preferences.includeAnnotations && page.head !== undefined ? 'include-annotations="pulsefeed.*"' : '',
  ].filter(text => text !== '');
  return applied.length === 0 ? {} : { 'Preference-Applied': applied.join(', ') };
}
