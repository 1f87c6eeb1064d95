import type { ResourceTable } from '../base/catalog/index.ts';
import type { ResourceConfig } from '../base/config/index.ts';
import {
  bindFilter,
  ExpressionError,
  type Field,
  operandsOf,
  parseExpression,
  ruleTypeOf,
  type TypedValue,
} from '../edm/index.ts';
import { type FeedRule, type FeedsConfig, feedRules, invalidRules } from './feed-config.ts';

/** A rule with its condition typed. */
export interface CompiledRule {
  readonly feed: string;
  readonly resource: string;
  readonly follows: FeedRule['follows'];
  /**
   * The ways in which a record may fulfil the rule, any one of them; in a rule with a consumer attribute each has
   * the field that must equal it. A rule without a condition has one way without one.
   */
  readonly ways: readonly RuleWay[];
}

export interface RuleWay {
  /** The field compared with the consumer's attribute. */
  readonly field: Field | undefined;
  /** What must hold besides; undefined: nothing. */
  readonly condition: TypedValue | undefined;
  /** Comparisons of a field with now(), for the moments at which the answer changes. */
  readonly clocks: readonly ClockComparison[];
}

/** `field op now() [+ duration]`, brought into the form: the answer changes at field + `shift`. */
export interface ClockComparison {
  readonly field: Field;
  /** Picoseconds to add to the field's value. */
  readonly shiftPicoseconds: bigint;
}

/** Every rule, and for each feed the consumer attribute that it depends on. */
export interface CompiledFeeds {
  readonly rules: readonly CompiledRule[];
  readonly attributes: ReadonlyMap<string, string | undefined>;
}

/**
 * Types every rule against its table before anything runs.
 * @throws EE-203 listing each fault with feed, resource and place.
 */
export function compileFeeds(
  feeds: FeedsConfig,
  resources: readonly ResourceConfig[],
  tables: readonly ResourceTable[],
): CompiledFeeds {
  const faults: string[] = [];
  const attributes = new Map<string, string | undefined>(Object.keys(feeds).map(name => [name, undefined]));
  const rules = feedRules(feeds, resources).map(rule => {
    const table = tables.find(({ config }) => config.name === rule.resource);
    try {
      return compileRule(rule, table, attributes);
    } catch (error) {
      if (!(error instanceof ExpressionError)) throw error;
      faults.push(`feed ${rule.feed}, ${rule.resource}: ${error.message} (at character ${error.position})`);
      return undefined;
    }
  });
  const compiled = rules.filter(rule => rule !== undefined);
  faults.push(...compiled.flatMap(rule => withoutAttribute(rule, attributes.get(rule.feed))));
  if (faults.length > 0) throw invalidRules(faults);
  return { rules: compiled, attributes };
}

function compileRule(
  rule: FeedRule,
  table: ResourceTable | undefined,
  attributes: Map<string, string | undefined>,
): CompiledRule {
  const { feed, resource, follows } = rule;
  if (rule.where === undefined) {
    return { feed, resource, follows, ways: [{ field: undefined, condition: undefined, clocks: [] }] };
  }
  if (table === undefined) {
    throw new ExpressionError(
      'unsupported',
      'A resource without a table states its feeds in each change.',
      0,
    );
  }
  const tree = bindFilter(parseExpression(rule.where, { consumerAttributes: true }), ruleTypeOf(table));
  const alternatives = tree.kind === 'or' && usesConsumer(tree) ? tree.operands : [tree];
  const ways = alternatives.map(alternative => compileWay(alternative, feed, attributes));
  if (follows !== undefined && ways.some(way => way.field !== undefined)) {
    throw new ExpressionError(
      'unsupported',
      'A rule that inherits cannot depend on the consumer as well.',
      0,
    );
  }
  if (ways.some(way => way.field !== undefined) && ways.some(way => way.field === undefined)) {
    throw new ExpressionError('unsupported', 'Each alternative must compare a field with the attribute.', 0);
  }
  return { feed, resource, follows, ways };
}

/** In a feed with one instance per value a record must say, by a field or by its parent, to which it belongs. */
function withoutAttribute({ feed, resource, follows, ways }: CompiledRule, attribute?: string): string[] {
  if (attribute === undefined || follows !== undefined || ways.every(way => way.field !== undefined))
    return [];
  return [
    `feed ${feed}, ${resource}: the feed depends on @consumer.${attribute}, so this rule must compare a field ` +
      'with it or inherit',
  ];
}

/** Takes `field eq @consumer.X` out of a conjunction: an equality is a join, anything else is a scan per consumer. */
function compileWay(tree: TypedValue, feed: string, attributes: Map<string, string | undefined>): RuleWay {
  const clocks = clocksOf(tree);
  if (!usesConsumer(tree)) return { field: undefined, condition: tree, clocks };
  const parts = tree.kind === 'and' ? tree.operands : [tree];
  const equalities = parts.map(consumerEquality);
  const equality = equalities.find(found => found !== undefined);
  const rest = parts.filter((_, index) => equalities[index] === undefined);
  if (equality === undefined || rest.length !== parts.length - 1 || rest.some(usesConsumer)) {
    throw new ExpressionError(
      'unsupported',
      'A rule may compare one field with one consumer attribute, as `field eq @consumer.Attribute and ...`.',
      tree.at,
    );
  }
  const known = attributes.get(feed);
  if (known !== undefined && known !== equality.attribute) {
    throw new ExpressionError('unsupported', `Feed ${feed} depends on @consumer.${known} already.`, tree.at);
  }
  attributes.set(feed, equality.attribute);
  const [only] = rest;
  const condition: TypedValue | undefined =
    rest.length > 1 ? { kind: 'and', operands: rest, at: tree.at } : only;
  return { field: equality.field, condition, clocks };
}

function consumerEquality(tree: TypedValue): { field: Field; attribute: string } | undefined {
  if (tree.kind !== 'compare' || tree.op !== 'eq') return undefined;
  const [a, b] = [tree.left, tree.right];
  if (a.kind === 'field' && b.kind === 'consumer') return { field: a, attribute: b.attribute };
  if (b.kind === 'field' && a.kind === 'consumer') return { field: b, attribute: a.attribute };
  return undefined;
}

function usesConsumer(tree: TypedValue): boolean {
  return tree.kind === 'consumer' || operandsOf(tree).some(usesConsumer);
}

/** The clock may stand only where the moment of the next change can be told: `field op now() [+/- duration]`. */
function clocksOf(tree: TypedValue): ClockComparison[] {
  if (tree.kind === 'compare' && readsClock(tree)) {
    const left = clockSide(tree.left);
    const right = clockSide(tree.right);
    if (tree.left.kind === 'field' && right !== undefined) {
      return [{ field: tree.left, shiftPicoseconds: -right }];
    }
    if (tree.right.kind === 'field' && left !== undefined) {
      return [{ field: tree.right, shiftPicoseconds: -left }];
    }
    throw new ExpressionError(
      'unsupported',
      'now() may stand only as `field op now()` with a duration.',
      tree.at,
    );
  }
  if (tree.kind === 'call' && tree.name === 'now') {
    throw new ExpressionError(
      'unsupported',
      'now() may stand only as `field op now()` with a duration.',
      tree.at,
    );
  }
  return operandsOf(tree).flatMap(clocksOf);
}

function readsClock(tree: TypedValue): boolean {
  return (tree.kind === 'call' && tree.name === 'now') || operandsOf(tree).some(readsClock);
}

/** `now()` with a constant duration added or taken: the picoseconds by which it is moved. */
function clockSide(tree: TypedValue): bigint | undefined {
  if (tree.kind === 'call' && tree.name === 'now') return 0n;
  if (tree.kind !== 'arithmetic' || tree.form !== 'shift') return undefined;
  const base = clockSide(tree.left);
  if (base === undefined || tree.right.kind !== 'literal' || tree.right.value.kind !== 'duration')
    return undefined;
  const moved = tree.right.value.picoseconds;
  return tree.op === 'sub' ? base - moved : base + moved;
}
