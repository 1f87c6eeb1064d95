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
  for (const [feed, keys] of keysByFeed(pulses)) {
    const first = new Map<string, number>();
    const last = new Map<string, number>();
    for (const [place, key] of keys.entries()) {
      if (!first.has(key)) first.set(key, place);
      last.set(key, place);
    }
    const at = (places: ReadonlyMap<string, number>, key: string) => places.get(key) ?? -1;
    const shows = (records: ReadonlyMap<string, StoredRecord>, key: string) =>
      records.get(key)?.vis.includes(feed) === true;
    for (const key of first.keys()) {
      const old = before.get(key)?.parents ?? [];
      const gone = old.find(
        parent =>
          parent !== null &&
          first.has(parent) &&
          !shows(after, parent) &&
          shows(before, key) &&
          at(last, key) > at(last, parent),
      );
      if (gone != null) return `feed ${feed}: ${gone} goes before ${key}: ${told(keys)}`;
      if (!shows(after, key)) continue;
      const late = (after.get(key)?.parents ?? []).find(
        parent =>
          parent !== null && first.has(parent) && shows(after, parent) && at(first, key) < at(first, parent),
      );
      if (late != null) return `feed ${feed}: ${key} comes before its parent ${late}: ${told(keys)}`;
    }
  }
  return undefined;
}

function keysByFeed(pulses: readonly FeedPulse[]): Map<number, string[]> {
  const keys = new Map<number, string[]>();
  for (const { key, feeds } of pulses) {
    for (const feed of feeds) {
      const list = keys.get(feed);
      if (list === undefined) keys.set(feed, [key]);
      else list.push(key);
    }
  }
  return keys;
}

function told(keys: readonly string[]): string {
  return keys.length <= 100 ? keys.join() : `${keys.slice(0, 100)} and ${keys.length - 100} more`;
}
