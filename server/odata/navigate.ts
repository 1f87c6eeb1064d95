import { PulsefeedError } from '../base/errors.ts';
import type { EntitySet } from '../edm/entity-set.ts';
import {
  bindFilter,
  isNavigation,
  type NavigationProperty,
  parseExpression,
  quoteString,
  type TypedValue,
} from '../edm/index.ts';
import { answerCollection, answerCount } from './collection.ts';
import { keyTexts, noSuchRecord, readUrl } from './entity.ts';
import { onlyRead } from './methods.ts';
import { negotiateVersion } from './negotiate.ts';
import { allOf } from './plan.ts';
import { readQuery } from './query.ts';
import type { ODataAnswer, ODataRequest } from './request.ts';
import type { Service } from './service.ts';
import type { PathSegment } from './target.ts';

/** Goes on with the request as if its path began at another set. */
export type Forward = (path: readonly PathSegment[]) => Promise<ODataAnswer>;

/** The relation that a path segment names, if it names one. */
export function relationOf(set: EntitySet, segment: PathSegment): NavigationProperty | undefined {
  const member = set.type.members.get(segment.name);
  return member !== undefined && isNavigation(member) ? member : undefined;
}

/**
 * `Property('K')/Media`, `/Media/$count`, `/Media('M')` and `/ListOffice/...` (URL Conventions 4.3, 4.5). The entity that
 * the path begins at must be there for the viewer, and so must what it leads to. Where one record is related and it is
 * not visible, the answer is that of no record at all (SILENT).
 */
export async function answerRelated(
  service: Service,
  set: EntitySet,
  predicate: string,
  navigation: NavigationProperty,
  [segment, ...rest]: readonly [PathSegment, ...PathSegment[]],
  request: ODataRequest,
  forward: Forward,
): Promise<ODataAnswer> {
  const target = [...service.sets.values()].find(other => other.type.qualifiedName === navigation.target);
  if (target === undefined || set.related === undefined) {
    throw new PulsefeedError('EE-107', 'There is no such resource.', { target: 'path' });
  }
  const key = keyTexts(service, set, predicate, readQuery(request.rawQuery));
  const within = await set.related(key, navigation.name, request.viewer);
  if (within === undefined) throw noSuchRecord(set);
  if (navigation.collection && segment.key === undefined) {
    const url = `${readUrl(request.root, set, key)}/${navigation.name}`;
    const [next] = rest;
    if (next === undefined) {
      return onlyRead(request, () => answerCollection(service, target, request, { filter: within, url }));
    }
    if (next.name === '$count' && next.key === undefined && rest.length === 1) {
      return onlyRead(request, () => answerCount(service, target, request, { filter: within, url }));
    }
    if (next.name === '$ref')
      throw new PulsefeedError('EE-112', '/$ref is not served here.', { target: 'path' });
    throw new PulsefeedError('EE-107', 'There is no such resource.', { target: 'path' });
  }
  const found = await findOne(service, target, within, segment, request);
  if (found !== undefined) return forward([{ name: target.name, key: predicateOf(target, found) }, ...rest]);
  if (navigation.collection || rest.length > 0) throw noSuchRecord(target);
  return onlyRead(request, () => nothing(request));
}

/** The key of the one related record, or of the one among several that the path names. */
async function findOne(
  service: Service,
  target: EntitySet,
  within: TypedValue,
  segment: PathSegment,
  request: ODataRequest,
): Promise<readonly string[] | undefined> {
  const named =
    segment.key === undefined
      ? undefined
      : keyFilter(target, keyTexts(service, target, segment.key, readQuery(request.rawQuery)));
  const filter = allOf([within, named]);
  const { rows } = await target.readPage(
    {
      root: request.root,
      select: target.type.key,
      expand: [],
      ieee754: false,
      omitNulls: false,
      ...(filter === undefined ? {} : { filter }),
      orderBy: [],
      limit: 1,
      skip: 0,
      count: false,
    },
    request.viewer,
  );
  return rows[0]?.key;
}

function keyFilter(set: EntitySet, key: readonly string[]): TypedValue | undefined {
  const equal = set.type.key.map((name, index) =>
    bindFilter(parseExpression(`${name} eq ${literalOf(set, index, key[index] ?? '')}`), set.type),
  );
  return allOf(equal);
}

function predicateOf(set: EntitySet, key: readonly string[]): string {
  const named = key.length > 1;
  return key
    .map((text, index) => `${named ? `${set.type.key[index]}=` : ''}${literalOf(set, index, text)}`)
    .join(',');
}

function literalOf(set: EntitySet, index: number, text: string): string {
  const property = set.type.members.get(set.type.key[index] ?? '');
  const type = property === undefined || isNavigation(property) ? undefined : property.type;
  const string = type?.kind === 'primitive' && type.name === 'Edm.String';
  return string ? quoteString(text) : text;
}

/** A relation to one record that leads to none (Protocol 11.2.8). */
function nothing(request: ODataRequest): ODataAnswer {
  const { version } = negotiateVersion(request.headers['odata-maxversion']);
  return { status: 204, headers: { 'OData-Version': version }, body: undefined, route: 'entity' };
}
