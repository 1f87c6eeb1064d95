import { keyText, type ResourceTable } from '../base/catalog/index.ts';
import { type ResourceConfig, rankResources } from '../base/config/index.ts';
import { type Db, type Queryable, quoteIdentifier } from '../base/db/index.ts';
import { type CompiledRule, compileFeeds } from './compile-rules.ts';
import type { FeedsConfig } from './feed-config.ts';
import { followedParents } from './record-sources.ts';
import { type FeedIds, ownFeedsSql, passSql } from './rule-sql.ts';

/** What applying would do to one feed of one resource, in records. */
export interface FeedPlan {
  readonly feed: string;
  readonly resource: string;
  /** In the feed now, as numbered. */
  readonly now: number;
  readonly appear: number;
  readonly vanish: number;
}

/**
 * Works out what `feeds` would change, and changes nothing: the rules are evaluated on the live rows, parents first,
 * and compared with what is stored. A feed per consumer value counts under its definition.
 * @throws EE-203 for rules with faults.
 */
export async function planFeeds(
  db: Db,
  feeds: FeedsConfig,
  resources: readonly ResourceConfig[],
  tables: readonly ResourceTable[],
): Promise<FeedPlan[]> {
  const { rules } = compileFeeds(feeds, resources, tables);
  const { rank } = rankResources(resources);
  const ordered = [...tables].sort((a, b) => (rank.get(a.config.name) ?? 0) - (rank.get(b.config.name) ?? 0));
  const work = async (tx: Queryable): Promise<FeedPlan[]> => {
    const ids = await imaginedFeeds(tx, feeds);
    for (const [index, table] of ordered.entries()) {
      await tx.script(planTable(index, table, ordered, rules, ids));
    }
    const plans: FeedPlan[] = [];
    for (const [index, table] of ordered.entries()) plans.push(...(await compare(tx, index, table)));
    throw new Planned(plans);
  };
  try {
    return await db.transaction(work);
  } catch (error) {
    // The transaction is rolled back on purpose: its temporary tables were all it was for.
    if (error instanceof Planned) return [...error.plans];
    throw error;
  }
}

class Planned extends Error {
  readonly plans: readonly FeedPlan[];
  constructor(plans: readonly FeedPlan[]) {
    super('planned');
    this.plans = plans;
  }
}

/** The feeds as they would be: those there are, and one with a number of its own for each new definition. */
async function imaginedFeeds(tx: Queryable, feeds: FeedsConfig): Promise<Map<string, FeedIds>> {
  await tx.script(`
create temporary table plan_feed on commit drop as
select f.id, f.definition_id, d.name as definition from pulsefeed.feed f
join pulsefeed.feed_definition d on d.id = f.definition_id`);
  for (const [index, name] of Object.keys(feeds).entries()) {
    await tx.query({
      text: `
insert into plan_feed select $2, $2, $1 where not exists (select from pulsefeed.feed_definition where name = $1)`,
      values: [name, 1_000_000_000 + index],
    });
  }
  const rows = await tx.query<{ definition: string; definition_id: number; feed: number | null }>({
    text: `
select p.definition, p.definition_id, max(p.id) filter (where f.value is null) as feed
from plan_feed p left join pulsefeed.feed f on f.id = p.id
group by 1, 2`,
  });
  return new Map(
    rows.map(row => [row.definition, { definition: row.definition_id, feed: row.feed ?? undefined }]),
  );
}

function planTable(
  index: number,
  table: ResourceTable,
  ordered: readonly ResourceTable[],
  rules: readonly CompiledRule[],
  ids: ReadonlyMap<string, FeedIds>,
): string {
  const own = rules.filter(rule => rule.resource === table.config.name);
  const followed = followedParents(own, ids).map(({ resource, slot, definitions }) => {
    const parent = ordered.findIndex(({ config }) => config.name === resource);
    const column = quoteIdentifier(table.config.parents?.[slot - 1]?.column ?? '');
    return `
    union select v from plan_${parent} p, unnest(p.vis) v join plan_feed f on f.id = v
    where p.key = t.${column}::text collate "C" and f.definition_id = any (r.pass)
      and f.definition_id = any ('{${definitions.join(',')}}'::integer[])`;
  });
  return `
create temporary table plan_${index} on commit drop as
select ${keyText(table, 't')} as key,
  array(select unnest(r.own)${followed.join('')}) as vis
from ${table.quoted} t
cross join lateral (select ${ownFeedsSql(own, ids)} as own, ${passSql(own, ids)} as pass) r;
create index on plan_${index} (key)`;
}

async function compare(tx: Queryable, index: number, table: ResourceTable): Promise<FeedPlan[]> {
  return tx.query<FeedPlan>({
    text: `
with stored as (
  select s.key, f.definition from pulsefeed.record_state s, unnest(s.vis) v join plan_feed f on f.id = v
  where s.resource_id = (select id from pulsefeed.resource where name = $1)
), wanted as (
  select p.key, f.definition from plan_${index} p, unnest(p.vis) v join plan_feed f on f.id = v
)
select definition as feed, $1 as resource,
  count(*) filter (where s)::int as now,
  count(*) filter (where w and not s)::int as appear,
  count(*) filter (where s and not w)::int as vanish
from (
  select definition, key, bool_or(stored) as s, bool_or(not stored) as w
  from (select key, definition, true as stored from stored union all select key, definition, false from wanted) u
  group by definition, key
) c
group by definition
order by definition`,
    values: [table.config.name],
  });
}
