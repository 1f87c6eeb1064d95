import type { Queryable } from '../server/base/db/index.ts';

/** What the log knows of one record: the feeds that see it and its parents, as stored. */
export interface StoredRecord {
  readonly vis: readonly number[];
  readonly parents: readonly (string | null)[] | null;
}

/** A pulse with the feeds of its audience; private feeds, which follow nobody's order, left out. */
export interface FeedPulse {
  readonly key: string;
  readonly feeds: readonly number[];
}

/** What the log knows of every record, by key; keys must differ between resources. */
export async function readStored(db: Queryable): Promise<Map<string, StoredRecord>> {
  const rows = await db.query<StoredRecord & { key: string }>({
    name: 'stored',
    text: 'select key, vis, parents from pulsefeed.record_state',
  });
  return new Map(rows.map(({ key, vis, parents }) => [key, { vis, parents }]));
}

/** The pulses above `after`, in their order. */
export async function readFeedPulses(db: Queryable, after: bigint): Promise<FeedPulse[]> {
  return db.query<FeedPulse>({
    name: 'feed_pulses',
    text: `
select e.key, array(
  select f.id from pulsefeed.feed f where f.id = any (a.feeds) and f.definition_id is not null
) as feeds
from pulsefeed.entity_event e
join pulsefeed.audience a on a.id = e.audience_id
where e.seq > $1
order by e.seq`,
    values: [after],
  });
}

/**
 * The first breach of RCP-027's order in one batch, in words: in each feed parents before children as they appear or
 * change, children before parents as they go, and a child that moves to another parent before its old one goes.
 */
export function orderBreach(
  before: ReadonlyMap<string, StoredRecord>,
  after: ReadonlyMap<string, StoredRecord>,
  pulses: readonly FeedPulse[],
): string | undefined {
  for (const feed of new Set(pulses.flatMap(({ feeds }) => feeds))) {
    const keys = pulses.filter(({ feeds }) => feeds.includes(feed)).map(({ key }) => key);
    const shows = (records: ReadonlyMap<string, StoredRecord>, key: string) =>
      records.get(key)?.vis.includes(feed) === true;
    for (const key of new Set(keys)) {
      const old = before.get(key)?.parents ?? [];
      const gone = old.find(
        parent =>
          parent !== null &&
          keys.includes(parent) &&
          !shows(after, parent) &&
          shows(before, key) &&
          keys.lastIndexOf(key) > keys.lastIndexOf(parent),
      );
      if (gone != null) return `feed ${feed}: ${gone} goes before ${key}: ${keys}`;
      if (!shows(after, key)) continue;
      const late = (after.get(key)?.parents ?? []).find(
        parent =>
          parent !== null &&
          keys.includes(parent) &&
          shows(after, parent) &&
          keys.indexOf(key) < keys.indexOf(parent),
      );
      if (late != null) return `feed ${feed}: ${key} comes before its parent ${late}: ${keys}`;
    }
  }
  return undefined;
}
