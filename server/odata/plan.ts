import { PulsefeedError } from '../base/errors.ts';
import type { CollectionPlan, EntitySet, ShapePlan } from '../edm/entity-set.ts';
import {
  bindFilter,
  bindOrderBy,
  type EdmModel,
  type EntityType,
  isNavigation,
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
import type { Format } from './negotiate.ts';
import type { Preferences } from './preferences.ts';
import { refuseUnserved, refusing } from './query.ts';
import type { Service } from './service.ts';
import type { SkipToken } from './skip-token.ts';

/** A collection request, typed and checked; no connection has been used yet. */
export interface RequestPlan {
  readonly page: CollectionPlan;
  /** Binds a nextLink to this query. */
  readonly digest: string;
  /** The token that the client came with. */
  readonly token: SkipToken | undefined;
  /** Rows that `$top` still allows before this page; undefined without `$top`. */
  readonly remaining: number | undefined;
  /** Names behind `#Set` in the context URL, when `$select` was given. */
  readonly contextSelect: string;
  /** True when rows come in the ascending order of the key alone, as a log is read. */
  readonly keyOrder: boolean;
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
  query: QueryOptions,
  format: Format,
  preferences: Preferences,
  root: string,
  { model, pages, codec }: Pick<Service, 'model' | 'pages' | 'codec'>,
): RequestPlan {
  refuseUnserved(query, served);
  checkSchemaVersion(query);
  const shape = planShape(set.type, query, format, preferences, root);
  const filter = planFilter(set.type, model, query);
  const asked = planOrder(set.type, model, query);
  const orderBy = withTieBreak(set.type, asked);
  const digest = codec.digest([
    set.name,
    ...(['filter', 'orderby'] as const).map(name => query.system.get(name)?.value ?? ''),
    ...[...query.aliases].flat(),
  ]);
  const tokenText = query.system.get('skiptoken')?.value;
  const token = tokenText === undefined ? undefined : codec.open(tokenText, digest);
  const top = integerOption(query, 'top');
  const remaining = token === undefined ? top : token.remaining;
  const size = Math.min(preferences.maxPageSize ?? pages.standard, pages.most);
  return {
    page: {
      ...shape,
      ...(filter === undefined ? {} : { filter }),
      orderBy,
      limit: Math.min(
        remaining ?? size,
        preferences.maxPageSize === undefined && remaining !== undefined ? pages.most : size,
      ),
      // A nextLink goes on by its position; $skip was applied on the first page.
      skip: token === undefined ? (integerOption(query, 'skip') ?? 0) : 0,
      ...(token === undefined ? {} : { after: token.after }),
      count: booleanOption(query, 'count') ?? false,
    },
    digest,
    token,
    remaining,
    contextSelect: shape.select === undefined ? '' : `(${shape.select.join(',')})`,
    keyOrder: asked.length === 0,
  };
}

/** `$select` and how values are written. @throws EE-101 */
export function planShape(
  type: EntityType,
  query: QueryOptions,
  format: Format,
  preferences: Preferences,
  root: string,
): ShapePlan {
  if (query.system.has('expand')) {
    throw new PulsefeedError('EE-112', `${type.name} has no relations to expand.`, { target: '$expand' });
  }
  const select = planSelect(type, query);
  return {
    root,
    ...(select === undefined ? {} : { select }),
    expand: [],
    ieee754: format.ieee754,
    omitNulls: preferences.omitNulls,
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
  return [...asked, ...ties.filter(item => item !== undefined)];
}

function planSelect(type: EntityType, query: QueryOptions): readonly string[] | undefined {
  const text = query.system.get('select')?.value;
  if (text === undefined) return undefined;
  const items = refusing('select', () => parseSelect(text));
  if (items.some(({ star }) => star)) return undefined;
  const names = items.map(({ path }) => {
    const name = path[0]?.name ?? '';
    const member = type.members.get(name);
    if (member === undefined || path.length > 1 || isNavigation(member)) {
      throw new PulsefeedError(
        'EE-101',
        `${type.name} has no property ${path.map(step => step.name).join('/')}.`,
        {
          target: '$select',
        },
      );
    }
    return name;
  });
  return [...new Set(names)];
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
