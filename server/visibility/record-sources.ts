import { keyText, matchKey, type ResourceTable } from '../base/catalog/index.ts';
import { type ResourceConfig, rankResources } from '../base/config/index.ts';
import { quoteIdentifier } from '../base/db/index.ts';
import type { FollowedParent, LiveTable, RecordSource } from '../log/index.ts';
import { type CompiledRule, compileFeeds } from './compile-rules.ts';
import type { FeedsConfig } from './feed-config.ts';
import { dueAtSql, type FeedIds, ownFeedsSql, passSql } from './rule-sql.ts';

/** While no feeds are configured there is one, and everything is in it. */
export const everyone: FeedsConfig = { everyone: { '*': true } };

/** How the sequencer is to look at each configured resource under these rules; without rules, as everyone's. */
export function recordSources(
  resources: readonly ResourceConfig[],
  tables: readonly ResourceTable[],
  rules: readonly CompiledRule[] = compileFeeds(everyone, resources, tables).rules,
  ids: ReadonlyMap<string, FeedIds> = new Map([['everyone', { definition: 1, feed: 1 }]]),
): RecordSource[] {
  const { rank } = rankResources(resources);
  return resources.map(resource => {
    const table = tables.find(({ config }) => config.name === resource.name);
    const own = rules.filter(rule => rule.resource === resource.name);
    const slot = (resource.parents ?? []).findIndex(parent => parent.resource === resource.name);
    return {
      resource: resource.name,
      rank: rank.get(resource.name) ?? 0,
      ...(slot === -1 ? {} : { selfParentSlot: slot + 1 }),
      follows: followedParents(own, ids),
      ...(resource.history === true ? { history: true } : {}),
      ...(table === undefined
        ? { unstated: ownFeedsSql(own.filter(isPlain), ids) }
        : { live: liveTable(table, own, ids) }),
    };
  });
}

/** A rule that a change without stated feeds can be held against: one that shows every record. */
function isPlain(rule: CompiledRule): boolean {
  return rule.ways.every(way => way.condition === undefined && way.field === undefined);
}

/** The parents that these rules follow, each with the definitions in which they do. */
export function followedParents(
  rules: readonly CompiledRule[],
  ids: ReadonlyMap<string, FeedIds>,
): FollowedParent[] {
  const parents = new Map<number, { resource: string; definitions: number[] }>();
  for (const { follows, feed } of rules) {
    if (follows === undefined) continue;
    const parent = parents.get(follows.slot) ?? { resource: follows.resource, definitions: [] };
    parent.definitions.push(ids.get(feed)?.definition ?? 0);
    parents.set(follows.slot, parent);
  }
  return [...parents].map(([slot, parent]) => ({ slot, ...parent }));
}

function liveTable(
  table: ResourceTable,
  rules: readonly CompiledRule[],
  ids: ReadonlyMap<string, FeedIds>,
): LiveTable {
  const parents = (table.config.parents ?? []).map(
    parent => `t.${quoteIdentifier(parent.column)}::text collate "C"`,
  );
  return {
    table: table.quoted,
    key: keyText(table, 't'),
    match: key => matchKey(table, 't', key),
    parents: parents.length === 0 ? 'null::text[] collate "C"' : `array[${parents.join(', ')}]`,
    feeds: ownFeedsSql(rules, ids),
    pass: passSql(rules, ids),
    dueAt: dueAtSql(rules),
  };
}
