import { PulsefeedError } from '../base/errors.ts';
import type { CollectionPlan, EntitySet, ShapePlan } from '../edm/entity-set.ts';
import {
  bindFilter,
  bindOrderBy,
  type EdmModel,
  type EntityType,
  parseBoolean,
  parseExpression,
  parseNonNegativeInteger,
  parseOrderBy,
  parseSelect,
  type QueryOptions,
  type SystemOption,
  type TypedOrderItem,
  type TypedValue,
} from '../edm/index.ts';
import { planExpand, selectedNames, selectList } from './expand.ts';
import type { Format } from './negotiate.ts';
import type { Preferences } from './preferences.ts';
import { refuseUnserved, refusing } from './query.ts';
import type { PageSizes, Service } from './service.ts';
import { invalidToken, type WalkToken } from './skip-token.ts';
import type { Resumed } from './walk.ts';

/** A collection request, typed and checked; no connection has been used yet. */
export interface RequestPlan {
  readonly page: CollectionPlan;
  /** Binds a nextLink to this query. */
  readonly digest: string;
  /** The token that the client came with. */
  readonly token: WalkToken | undefined;
  /** Rows that `$top` still allows before this page; undefined without `$top`. */
  readonly remaining: number | undefined;
  /** What stands behind `#Set` in the context URL: the selected names, and `/$delta` for a read of changes. */
  readonly contextSuffix: string;
  /** True when rows come in the ascending order of the key alone, as a log is read. */
  readonly keyOrder: boolean;
  /** Set when the walk is to end in a deltaLink. */
  readonly tracking: WalkToken['tracking'];
  /** The number behind which a read of changes began. */
  readonly since: string | undefined;
}

/** The part of a set that a path over a relation leads to: its condition and its URL. */
export interface Within {
  readonly filter: TypedValue;
  readonly url: string;
}

const served: readonly SystemOption[] = [
  'count',
  'deltatoken',
  'expand',
  'filter',
  'format',
  'orderby',
  'schemaversion',
  'select',
  'skip',
  'skiptoken',
  'top',
];

/** Turns the options of a collection request into a plan. @throws EE-1xx naming the option and the place. */
export function planCollection(
  set: EntitySet,
  { query, token }: Resumed,
  format: Format,
  preferences: Preferences,
  root: string,
  { model, pages, codec }: Pick<Service, 'model' | 'pages' | 'codec'>,
  within?: Within,
): RequestPlan {
  refuseUnserved(query, served);
  checkSchemaVersion(query);
  const shape = planShape(set.type, query, format, preferences, root, { model, pages });
  const asked = planOrder(set.type, model, query);
  const keyOrder = isKeyOrder(set.type, asked);
  const digest = queryDigest(codec, set, query, within);
  if (token !== undefined && token.query !== digest) throw invalidToken(token.use);
  const tracking = trackingOf(token, preferences, keyOrder);
  const since = typeof tracking === 'object' ? tracking.since : undefined;
  if (since !== undefined && format.metadata === 'none') {
    throw new PulsefeedError('EE-109', 'Changes are not served without metadata.', { target: 'Accept' });
  }
  const filter = allOf([
    within?.filter,
    planFilter(set.type, model, query),
    since && sinceFilter(set.type, since),
  ]);
  const top = integerOption(query, 'top');
  const remaining = token?.use === 'skip' ? token.remaining : top;
  return {
    page: {
      ...shape,
      ...(filter === undefined ? {} : { filter }),
      orderBy: withTieBreak(set.type, asked),
      limit: pageLimit(pages, preferences, remaining),
      // A link goes on by its position; $skip was applied on the first page.
      skip: token === undefined ? (integerOption(query, 'skip') ?? 0) : 0,
      ...(token?.use === 'skip' ? { after: token.after } : {}),
      ...begunOf(token),
      count: booleanOption(query, 'count') ?? false,
    },
    digest,
    token,
    remaining,
    contextSuffix: `${selectList(shape)}${since === undefined ? '' : '/$delta'}`,
    keyOrder,
    tracking,
    since,
  };
}

function begunOf(token: WalkToken | undefined): Pick<CollectionPlan, 'begun'> {
  if (token?.epoch === undefined || token.head === undefined) return {};
  const scanned = token.use === 'delta' ? token.after[0] : undefined;
  return {
    begun: {
      epoch: token.epoch,
      head: BigInt(token.head),
      ...(scanned == null ? {} : { scanned: BigInt(scanned) }),
    },
  };
}

/** The rows of a page: the smallest of `$top`, the client's page size and the cap. */
function pageLimit(pages: PageSizes, { maxPageSize }: Preferences, remaining: number | undefined): number {
  // $top alone says how many rows the client is ready for; without it the standard size applies.
  const wanted = maxPageSize ?? (remaining === undefined ? pages.standard : pages.most);
  return Math.min(remaining ?? wanted, wanted, pages.most);
}

/** Changes are tracked in the order of the log only; the preference is ignored elsewhere (Protocol 8.2.8.6). */
function trackingOf(
  token: WalkToken | undefined,
  preferences: Preferences,
  keyOrder: boolean,
): WalkToken['tracking'] {
  if (token?.use === 'skip') return token.tracking;
  if (token?.use === 'delta') return { since: token.after[0] ?? '0' };
  return preferences.trackChanges && keyOrder ? 'all' : undefined;
}

/** What a token is bound to: the set, and the options that decide which rows there are and in which order. */
export function queryDigest(
  codec: Service['codec'],
  set: EntitySet,
  query: QueryOptions,
  within?: Within,
): string {
  return codec.digest([
    set.name,
    ...(within === undefined ? [] : [within.url]),
    ...(['filter', 'orderby'] as const).map(name => query.system.get(name)?.value ?? ''),
    ...[...query.aliases].flat(),
  ]);
}

/** The condition that a row was added behind this number. */
export function sinceFilter(type: EntityType, since: string): TypedValue {
  return bindFilter(parseExpression(`${type.key[0]} gt ${since}`), type);
}

/** Joins conditions with `and`; absent ones hold for every row. */
export function allOf(filters: readonly (TypedValue | '' | undefined)[]): TypedValue | undefined {
  const operands = filters.filter(filter => filter !== undefined && filter !== '');
  return operands.length > 1 ? { kind: 'and', operands, at: 0 } : operands[0];
}

function isKeyOrder(type: EntityType, asked: readonly TypedOrderItem[]): boolean {
  const [first] = asked;
  if (first === undefined) return true;
  const { expr, descending } = first;
  return !descending && expr.kind === 'field' && expr.via.length === 0 && expr.property.name === type.key[0];
}

/** `$select`, `$expand` and how values are written. @throws EE-101, EE-106 or EE-112 */
export function planShape(
  type: EntityType,
  query: QueryOptions,
  format: Format,
  preferences: Preferences,
  root: string,
  { model, pages }: Pick<Service, 'model' | 'pages'>,
): ShapePlan {
  const select = planSelect(type, query);
  const shape = { root, ieee754: format.ieee754, omitNulls: preferences.omitNulls };
  const expand = query.system.get('expand')?.value;
  const frame = { model, aliases: query.aliases, mostRows: pages.standard, prefix: format.prefix, shape };
  return {
    ...shape,
    ...(select === undefined ? {} : { select }),
    expand: expand === undefined ? [] : planExpand(type, expand, frame),
  };
}

/** The typed `$filter`, if there is one. @throws EE-101 */
export function planFilter(type: EntityType, model: EdmModel, query: QueryOptions): TypedValue | undefined {
  const text = query.system.get('filter')?.value;
  if (text === undefined) return undefined;
  return refusing('filter', () => bindFilter(parseExpression(text), type, { model, aliases: query.aliases }));
}

function planOrder(type: EntityType, model: EdmModel, query: QueryOptions): readonly TypedOrderItem[] {
  const text = query.system.get('orderby')?.value;
  if (text === undefined) return [];
  return refusing('orderby', () => bindOrderBy(parseOrderBy(text), type, { model, aliases: query.aliases }));
}

/** Ends the order in the key, so that a page boundary is one place; a plain order by the key is left as it is. */
function withTieBreak(type: EntityType, asked: readonly TypedOrderItem[]): readonly TypedOrderItem[] {
  const missing = type.key.filter(
    name =>
      !asked.some(
        ({ expr }) => expr.kind === 'field' && expr.via.length === 0 && expr.property.name === name,
      ),
  );
  const ties = missing.map(name => bindOrderBy(parseOrderBy(name), type)[0]);
  // What comes behind the whole key decides nothing, and the log reads its own order faster than any other.
  if (isKeyOrder(type, asked) && type.key.length === 1)
    return asked.length > 0 ? asked.slice(0, 1) : ties.filter(isItem);
  return [...asked, ...ties.filter(isItem)];
}

function isItem(item: TypedOrderItem | undefined): item is TypedOrderItem {
  return item !== undefined;
}

function planSelect(type: EntityType, query: QueryOptions): readonly string[] | undefined {
  const text = query.system.get('select')?.value;
  if (text === undefined) return undefined;
  return selectedNames(
    type,
    refusing('select', () => parseSelect(text)),
  );
}

function integerOption(query: QueryOptions, name: 'top' | 'skip'): number | undefined {
  const text = query.system.get(name)?.value;
  return text === undefined ? undefined : refusing(name, () => parseNonNegativeInteger(text));
}

function booleanOption(query: QueryOptions, name: 'count'): boolean | undefined {
  const text = query.system.get(name)?.value;
  return text === undefined ? undefined : refusing(name, () => parseBoolean(text));
}

function checkSchemaVersion(query: QueryOptions): void {
  const version = query.system.get('schemaversion')?.value;
  if (version !== undefined && version !== '*') {
    throw new PulsefeedError('EE-107', 'There is no such schema version.', { target: '$schemaversion' });
  }
}
