import { PulsefeedError } from '../base/errors.ts';
import type { ExpandPlan, ShapePlan } from '../edm/entity-set.ts';
import {
  bindFilter,
  bindOrderBy,
  type EdmModel,
  type EntityType,
  type ExpandItem,
  type ExpandOptions,
  isNavigation,
  type NavigationProperty,
  parseExpand,
  parseOrderBy,
  printExpression,
  printOrderBy,
  type QueryOptions,
  type SelectItem,
} from '../edm/index.ts';
import { refusing } from './query.ts';

/** Relations within relations; a deeper answer is more than a client can want and a server should compute. */
const mostLevels = 4;

/** What an expanded relation takes over from the request that it is part of. */
export interface ExpandFrame {
  readonly model: EdmModel;
  readonly aliases: QueryOptions['aliases'];
  /** Rows that one entity shows of a relation. */
  readonly mostRows: number;
  /** `@odata.` or `@`. */
  readonly prefix: string;
  readonly shape: Pick<ShapePlan, 'root' | 'ieee754' | 'omitNulls'>;
}

/** Turns `$expand` into plans. @throws EE-101, EE-106 or EE-112 naming the option. */
export function planExpand(type: EntityType, text: string, frame: ExpandFrame): readonly ExpandPlan[] {
  return refusing('expand', () => planItems(type, parseExpand(text), frame, 1));
}

/**
 * What `$select` names; undefined: all properties. A relation may stand among them (Protocol 11.2.5.1): it adds its link,
 * which clients make from the URL of the entity, and so only its name in the context URL. @throws EE-101
 */
export function selectedNames(type: EntityType, items: readonly SelectItem[]): readonly string[] | undefined {
  if (items.some(({ star }) => star)) return undefined;
  const names = items.map(({ path }) => {
    const name = path[0]?.name ?? '';
    const member = type.members.get(name);
    if (member === undefined || path.length > 1) {
      const asked = path.map(step => step.name).join('/');
      throw new PulsefeedError('EE-101', `${type.name} has no property ${asked}.`, { target: '$select' });
    }
    return name;
  });
  return [...new Set(names)];
}

/** What stands behind the set's name in the context URL: selected names and expanded relations (Protocol 10.7). */
export function selectList(shape: Pick<ShapePlan, 'select' | 'expand'>): string {
  const expanded = shape.expand.map(plan => `${plan.navigation}${selectList(plan) || '()'}`);
  const names = [...(shape.select ?? []), ...expanded];
  return names.length === 0 ? '' : `(${names.join(',')})`;
}

function planItems(
  type: EntityType,
  items: readonly ExpandItem[],
  frame: ExpandFrame,
  level: number,
): readonly ExpandPlan[] {
  if (level > mostLevels) {
    throw new PulsefeedError('EE-106', `$expand goes at most ${mostLevels} levels deep.`, {
      target: '$expand',
    });
  }
  const plans = new Map<string, ExpandPlan>();
  // What a star names besides an item of its own is that item.
  for (const item of [...items].sort((a, b) => Number(a.star) - Number(b.star))) {
    const targets = item.star ? type.navigation : [namedRelation(type, item)];
    for (const navigation of targets) {
      if (plans.has(navigation.name)) {
        if (item.star) continue;
        throw new PulsefeedError('EE-102', `$expand names ${navigation.name} twice.`, { target: '$expand' });
      }
      plans.set(navigation.name, planItem(navigation, item, frame, level));
    }
  }
  return [...plans.values()];
}

function namedRelation(type: EntityType, { path }: ExpandItem): NavigationProperty {
  const [first] = path;
  const member = type.members.get(first?.name ?? '');
  if (path.length !== 1 || member === undefined || !isNavigation(member)) {
    const asked = path.map(({ name }) => name).join('/');
    throw new PulsefeedError('EE-101', `${type.name} has no relation ${asked}.`, { target: '$expand' });
  }
  return member;
}

function planItem(
  navigation: NavigationProperty,
  { suffix, star, options }: ExpandItem,
  frame: ExpandFrame,
  level: number,
): ExpandPlan {
  if (suffix !== null) {
    throw new PulsefeedError('EE-112', `/$${suffix} within $expand is not served.`, { target: '$expand' });
  }
  if (star && Object.keys(options).length > 0) {
    throw new PulsefeedError('EE-112', 'Options of * within $expand are not served.', { target: '$expand' });
  }
  const target = frame.model.entityTypes.get(navigation.target);
  if (target === undefined) throw new Error(`${navigation.target} is not in the model`);
  if (!navigation.collection) refuseForOne(navigation, options);
  const bind = { model: frame.model, aliases: frame.aliases, nested: true };
  const { filter, top, skip = 0 } = options;
  const limit = Math.min(top ?? frame.mostRows, frame.mostRows);
  const next = top !== undefined && top <= limit ? undefined : nextOptions(options, skip + limit, limit);
  const select = options.select === undefined ? undefined : selectedNames(target, options.select);
  const asked = options.orderby === undefined ? [] : bindOrderBy(options.orderby, target, bind);
  const ties = navigation.collection
    ? target.key.flatMap(name => bindOrderBy(parseOrderBy(name), target))
    : [];
  return {
    ...frame.shape,
    navigation: navigation.name,
    ...(select === undefined ? {} : { select }),
    expand: options.expand === undefined ? [] : planItems(target, options.expand, frame, level + 1),
    ...(filter === undefined ? {} : { filter: bindFilter(filter, target, bind) }),
    orderBy: [...asked, ...ties],
    limit,
    skip,
    count: options.count ?? false,
    ...(next === undefined ? {} : { next }),
    prefix: frame.prefix,
  };
}

/** One related entity can be selected from and expanded; there is nothing to sort, cut or count. */
function refuseForOne(navigation: NavigationProperty, options: ExpandOptions): void {
  const refused = (['filter', 'orderby', 'top', 'skip', 'count'] as const).find(
    name => options[name] !== undefined,
  );
  if (refused === undefined) return;
  throw new PulsefeedError('EE-101', `${navigation.name} is one record; $${refused} does not apply to it.`, {
    target: '$expand',
  });
}

/** The options of the link to the rest of a relation. */
function nextOptions(options: ExpandOptions, skip: number, shown: number): string {
  const texts = optionTexts({
    ...options,
    skip,
    ...(options.top === undefined ? {} : { top: options.top - shown }),
  });
  return texts.map(text => encodeURIComponent(text).replace('%3D', '=').replaceAll("'", '%27')).join('&');
}

function optionTexts(options: ExpandOptions): string[] {
  const { select, filter, orderby, expand, top, skip } = options;
  const texts: string[] = [];
  if (select !== undefined) texts.push(`$select=${select.map(selectText).join(',')}`);
  if (filter !== undefined) texts.push(`$filter=${printExpression(filter)}`);
  if (orderby !== undefined) texts.push(`$orderby=${printOrderBy(orderby)}`);
  if (expand !== undefined) texts.push(`$expand=${expand.map(expandText).join(',')}`);
  if (top !== undefined) texts.push(`$top=${top}`);
  if (skip !== undefined && skip > 0) texts.push(`$skip=${skip}`);
  return texts;
}

function selectText({ path, star }: SelectItem): string {
  return star ? '*' : path.map(({ name }) => name).join('/');
}

function expandText({ path, star, options }: ExpandItem): string {
  const name = star ? '*' : path.map(step => step.name).join('/');
  const count = options.count === undefined ? [] : [`$count=${options.count}`];
  const texts = [...optionTexts(options), ...count];
  return texts.length === 0 ? name : `${name}(${texts.join(';')})`;
}
