import { keyText, type ResourceTable } from '../base/catalog/index.ts';
import { quoteIdentifier } from '../base/db/index.ts';
import { columnSql, type Field, filterToSql, type SqlFragment, type TypedValue } from '../edm/index.ts';
import { noDueAt } from '../log/index.ts';
import type { CompiledRule, RuleWay } from './compile-rules.ts';

/** Ids under which a feed of the configuration stands in the database. */
export interface FeedIds {
  readonly definition: number;
  /** The one feed of a definition without a consumer attribute. */
  readonly feed: number | undefined;
}

/** The alias of the provider's table where there is only one, quoted. */
const ownAlias = quoteIdentifier('t');

/** The stored clock: numbering and reading must give the same answer at the same moment. */
const clock = { sql: '(select rule_clock from pulsefeed.log_head)' };

/** SQL `integer[]`: the feeds whose own rule the row of alias `t` fulfils. */
export function ownFeedsSql(rules: readonly CompiledRule[], ids: ReadonlyMap<string, FeedIds>): string {
  const own = rules.filter(rule => rule.follows === undefined);
  if (own.length === 0) return `'{}'::integer[]`;
  const constant = own.every(rule =>
    rule.ways.every(way => way.field === undefined && way.condition === undefined),
  );
  if (constant) return intArray(own.map(rule => feedId(rule, ids)).sort((a, b) => a - b));
  const items = own.flatMap(rule => rule.ways.map(way => wayFeedSql(rule, way, ids)));
  return `array(select distinct x from unnest(array[${items.join(', ')}]::integer[]) x where x is not null order by x)`;
}

/** SQL for the feed that one way of a rule puts the row in, or null. */
function wayFeedSql(rule: CompiledRule, way: RuleWay, ids: ReadonlyMap<string, FeedIds>): string {
  const condition = way.condition === undefined ? 'true' : inlineSql(way.condition);
  if (way.field === undefined) return `case when ${condition} then ${feedId(rule, ids)} end`;
  return `case when ${condition} then ${valueFeedSql(rule, way.field, ids)} end`;
}

/** The feed of the value that the field has: one probe of a unique index, whatever the number of feeds. */
function valueFeedSql(
  rule: CompiledRule,
  field: Field,
  ids: ReadonlyMap<string, FeedIds>,
  alias = ownAlias,
): string {
  const definition = ids.get(rule.feed)?.definition ?? 0;
  const value = `(${columnSql(field.property.column, alias)})::text collate "C"`;
  return `(select f.id from pulsefeed.feed f where f.definition_id = ${definition} and f.value = ${value})`;
}

/** SQL `integer[]` or null: the definitions in which the row follows a parent and its own condition allows it. */
export function passSql(rules: readonly CompiledRule[], ids: ReadonlyMap<string, FeedIds>): string {
  const following = rules.filter(rule => rule.follows !== undefined);
  if (following.length === 0) return 'null::integer[]';
  if (following.every(rule => rule.ways.every(way => way.condition === undefined))) {
    return intArray(following.map(rule => ids.get(rule.feed)?.definition ?? 0).sort((a, b) => a - b));
  }
  const items = following.map(rule => {
    const condition = rule.ways.map(way => (way.condition === undefined ? 'true' : inlineSql(way.condition)));
    return `case when ${condition.join(' or ')} then ${ids.get(rule.feed)?.definition ?? 0} end`;
  });
  return `array(select x from unnest(array[${items.join(', ')}]::integer[]) x where x is not null order by x)`;
}

/** SQL `timestamptz` or null: the next moment after the stored clock at which a rule changes its answer. */
export function dueAtSql(rules: readonly CompiledRule[]): string {
  const clocks = rules.flatMap(rule => rule.ways.flatMap(way => way.clocks));
  if (clocks.length === 0) return noDueAt;
  const moments = clocks.map(({ field, shiftPicoseconds }) => {
    const microseconds = shiftPicoseconds / 1_000_000n;
    const value = columnSql(field.property.column, '"t"');
    return `(${value})::timestamptz + interval '${microseconds} microseconds'`;
  });
  // A comparison such as le changes just after the moment: both sides of it are looked at.
  const both = moments.flatMap(moment => [moment, `${moment} + interval '1 microsecond'`]);
  return `(select min(m) from unnest(array[${both.join(', ')}]) m where m > ${clock.sql})`;
}

/**
 * How many rows a statement tests: `few`, a page or a batch of keys, each looked up in the stored state (as a scalar
 * subquery, which the planner cannot turn into a scan of the whole state for the sake of a hundred keys); `all`, as for a
 * count, where one join with the state is cheaper than a look at every row.
 */
export type RowsMet = 'few' | 'all';

/**
 * The one predicate for records (SERVE): true for the rows of `alias` (quoted) that whoever holds `held` (SQL
 * `integer[]`) may see. A feed counts when it is in the stored visibility and the record's own rule holds on the row as it is now;
 * a parent counts only as stored. `met` says how many rows it will be asked of.
 */
export function servedSql(
  table: ResourceTable,
  rules: readonly CompiledRule[],
  ids: ReadonlyMap<string, FeedIds>,
  held: string,
  alias = ownAlias,
  met: RowsMet = 'few',
): string {
  const alternatives = rules.flatMap(rule =>
    rule.ways.map(way => {
      const condition = way.condition === undefined ? '' : ` and ${inlineSql(way.condition, alias)}`;
      return `(${heldInState(rule, way, ids, held, alias)}${condition})`;
    }),
  );
  const condition = alternatives.length === 0 ? seenByNobody(held) : alternatives.join(' or ');
  return met === 'all'
    ? `exists (${stateSql(table, '', condition, alias)})`
    : `coalesce((${stateSql(table, 'true', condition, alias)}), false)`;
}

/** Names what the reader holds all the same: the statement has bound a value for it. */
export function seenByNobody(held: string): string {
  return `(false and ${held} is null)`;
}

function heldInState(
  rule: CompiledRule,
  way: RuleWay,
  ids: ReadonlyMap<string, FeedIds>,
  held: string,
  alias: string,
): string {
  if (way.field !== undefined) {
    return `exists (select from unnest(s.vis) v where v = any (${held}) and v = ${valueFeedSql(rule, way.field, ids, alias)})`;
  }
  const { definition = 0, feed } = ids.get(rule.feed) ?? {};
  if (feed !== undefined) return `(${feed} = any (s.vis) and ${feed} = any (${held}))`;
  return `exists (
    select from pulsefeed.feed f
    where f.id = any (s.vis) and f.id = any (${held}) and f.definition_id = ${definition}
  )`;
}

/** The row of a record's stored state, when it fulfils a condition over alias `s`. */
function stateSql(table: ResourceTable, columns: string, condition: string, alias: string): string {
  const name = `'${table.config.name.replaceAll("'", "''")}'`;
  return `
  select ${columns} from pulsefeed.record_state s
  where s.resource_id = (select id from pulsefeed.resource where name = ${name})
    and s.key = ${keyText(table, alias)} and (${condition})
`;
}

/**
 * A rule's condition with its values written as literals: it becomes part of statements that bind values of their own.
 * The values are the operator's, from the configuration; each is quoted all the same.
 */
function inlineSql(condition: TypedValue, alias = ownAlias): string {
  return inlineValues(filterToSql(condition, { alias: rowOfRule, now: clock }), alias);
}

/** Stands for the row while a condition is translated; no column has this name. */
const rowOfRule = ' row of the rule ';

function inlineValues({ text, values }: SqlFragment, alias: string): string {
  // Quoted identifiers are passed over: a column may have a dollar sign in its name. The translation's own aliases are
  // renamed: the row may be one of a request's filter, which uses the same ones.
  const written = text.replace(/"((?:[^"]|"")*)"|\$(\d+)/g, (whole, name?: string, n?: string) => {
    if (n !== undefined) return literal(values[Number(n) - 1]);
    if (name === rowOfRule) return alias;
    return name !== undefined && /^_[cnv]\d+$/.test(name) ? quoteIdentifier(`_rule${name}`) : whole;
  });
  return `(${written})`;
}

function literal(value: unknown): string {
  if (typeof value === 'boolean') return String(value);
  if (typeof value === 'string') return quoted(value);
  if (Array.isArray(value)) return `array[${value.map(literal).join(', ')}]`;
  if (value instanceof Uint8Array) return `'\\x${Buffer.from(value).toString('hex')}'`;
  throw new Error('A rule holds a value that cannot be written.');
}

function quoted(text: string): string {
  if (text.includes('\0')) throw new Error('A rule cannot hold the character NUL.');
  const doubled = text.replaceAll("'", "''");
  return text.includes('\\') ? `E'${doubled.replaceAll('\\', '\\\\')}'` : `'${doubled}'`;
}

function feedId(rule: CompiledRule, ids: ReadonlyMap<string, FeedIds>): number {
  return ids.get(rule.feed)?.feed ?? 0;
}

function intArray(values: readonly number[]): string {
  return `'{${values.join(',')}}'::integer[]`;
}
