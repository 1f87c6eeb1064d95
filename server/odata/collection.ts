import { PulsefeedError } from '../base/errors.ts';
import type { EntityPage, EntitySet } from '../edm/entity-set.ts';
import type { QueryOptions } from '../edm/index.ts';
import { readUrl } from './entity.ts';
import { negotiateJson, negotiateVersion } from './negotiate.ts';
import { planCollection, planFilter, type RequestPlan } from './plan.ts';
import { type Preferences, parsePreferences } from './preferences.ts';
import { readQuery, refuseUnserved } from './query.ts';
import type { ODataAnswer, ODataRequest } from './request.ts';
import { collectionBody, decorator } from './respond.ts';
import type { Service } from './service.ts';
import type { SkipToken } from './skip-token.ts';

/** `GET /Set`: one page (Protocol 11.2.6). */
export async function answerCollection(
  service: Service,
  set: EntitySet,
  request: ODataRequest,
): Promise<ODataAnswer> {
  const query = readQuery(request.rawQuery);
  const format = negotiateJson(
    request.headers.accept,
    query.system.get('format')?.value,
    request.headers['odata-maxversion'],
  );
  const preferences = parsePreferences(request.headers.prefer);
  const plan = planCollection(set, query, format, preferences, request.root, service);
  const page = await set.readPage(plan.page, request.viewer);
  const root = `${request.root}/${set.name}`;
  const next = nextToken(plan, page);
  const delta = next === undefined && preferences.trackChanges && page.head !== undefined;
  const body = collectionBody(
    page,
    {
      contextUrl: `${request.root}/$metadata#${set.name}${plan.contextSelect}`,
      ...(next === undefined ? {} : { nextLink: linkFrom(root, query, service.codec.seal(next)) }),
      ...(delta ? { deltaLink: linkFrom(root, query, service.codec.seal(headToken(plan, page))) } : {}),
      annotations: annotations(plan, page, preferences),
    },
    format,
    decorator(format, set.type.qualifiedName, key => readUrl(request.root, set, key)),
  );
  return {
    status: 200,
    headers: {
      'OData-Version': format.version,
      'Content-Type': format.contentType,
      Vary: 'Accept, Prefer, OData-MaxVersion',
      ...appliedPreferences(plan, preferences),
    },
    body,
    route: 'collection',
    rows: page.rows.length,
  };
}

/** `GET /Set/$count`: digits as text (Protocol 11.2.10). */
export async function answerCount(
  service: Service,
  set: EntitySet,
  request: ODataRequest,
): Promise<ODataAnswer> {
  const query = readQuery(request.rawQuery);
  refuseUnserved(query, ['filter', 'format']);
  const { version } = negotiateVersion(request.headers['odata-maxversion']);
  const count = await set.count(planFilter(set.type, service.model, query), request.viewer);
  return {
    status: 200,
    headers: { 'OData-Version': version, 'Content-Type': 'text/plain' },
    body: count.toString(),
    route: 'count',
  };
}

/** The token of the next page, exactly when more is owed: rows match beyond this page and `$top` allows them. */
function nextToken(plan: RequestPlan, page: EntityPage): SkipToken | undefined {
  const last = page.rows.at(-1);
  const remaining = plan.remaining === undefined ? undefined : plan.remaining - page.rows.length;
  if (!page.more || last === undefined || remaining === 0) return undefined;
  return {
    query: plan.digest,
    after: last.position,
    ...(remaining === undefined ? {} : { remaining }),
    ...walkOf(plan, page),
  };
}

/** Where a walk that has met the head goes on later: `gt head` in OData's dress (Protocol 11.3). */
function headToken(plan: RequestPlan, page: EntityPage): SkipToken {
  if (!plan.keyOrder) {
    throw new PulsefeedError('EE-112', 'Changes are tracked in the order of EntityEventSequence only.', {
      target: 'Prefer',
    });
  }
  return { query: plan.digest, after: [scannedTo(page).toString()], ...walkOf(plan, page) };
}

/** The epoch, and the head when the walk began: what tells a fresh walk from a stale reader. */
function walkOf(plan: RequestPlan, page: EntityPage): Pick<SkipToken, 'epoch' | 'head'> {
  if (page.epoch === undefined || page.head === undefined) return {};
  return { epoch: page.epoch, head: plan.token?.head ?? page.head.toString() };
}

/** Repeats the client's own options with the position; `$skip` was spent on the first page (NOSKIP). */
function linkFrom(root: string, query: QueryOptions, token: string): string {
  const kept = query.all.filter(({ name }) => !/^\$?(skip|skiptoken)$/i.test(name));
  const options = [...kept.map(({ name, value }) => [name, value] as const), ['$skiptoken', token] as const];
  return `${root}?${options.map(([name, value]) => `${encode(name)}=${encode(value)}`).join('&')}`;
}

function encode(text: string): string {
  return encodeURIComponent(text).replaceAll("'", '%27').replace(/^%24/, '$').replace(/^%40/, '@');
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
    ...(plan.keyOrder ? { 'pulsefeed.scannedTo': scannedTo(page) } : {}),
    'pulsefeed.epoch': epoch,
  };
}

/** A page that is not the last was scanned to its last row; the last one to the head of its snapshot. */
function scannedTo(page: EntityPage): bigint {
  const last = page.rows.at(-1)?.position[0];
  return page.more && last != null ? BigInt(last) : (page.head ?? 0n);
}

function appliedPreferences(plan: RequestPlan, preferences: Preferences): Record<string, string> {
  const applied = [
    preferences.maxPageSize === undefined ? '' : `maxpagesize=${plan.page.limit}`,
    preferences.omitNulls ? 'omit-values=nulls' : '',
    preferences.trackChanges && plan.keyOrder && plan.token === undefined ? 'track-changes' : '',
  ].filter(text => text !== '');
  return applied.length === 0 ? {} : { 'Preference-Applied': applied.join(', ') };
}
