import { setTimeout as delay } from 'node:timers/promises';
import { openPostgres } from '../server/base/db/postgres.ts';
import { type EventLog, openLog } from '../server/log/index.ts';

const pageSize = 200;
const pauseMs = 10;

/** A reader's copy: `Resource/key` and what the record holds. */
export type Replica = Map<string, number>;

/** What one reader was served. */
export interface ReadFeed {
  /** Numbers in the order in which they came. */
  readonly numbers: bigint[];
  /** `Resource/key` of each number. */
  readonly keys: string[];
  readonly pages: number;
  /** What it was shown that it must never see. */
  readonly faults: string[];
  readonly replica: Replica;
}

/** All records as they are, `Resource/key` and what they hold. */
const live = `
select 'Showing' as resource, "ShowingId"::text as key, note from showing
union all
select 'Property', "ListingKey", note from property
union all
select 'Media', "MediaKey", note from media`;

/**
 * Some records as they are served (SERVE): only what the log knows of as well. By the live rows alone a reader that is
 * late at an old removal would meet a record that came back and is gone again before its next step, and keep it for
 * ever: of that nobody is owed a pulse. This soak found it when it read so.
 */
const served = `
select t.resource || '/' || t.key as key, t.note
from (
  select 'Showing' as resource, "ShowingId"::text as key, note from showing where "ShowingId" = any ($2::bigint[])
  union all
  select 'Property', "ListingKey", note from property where "ListingKey" = any ($1)
  union all
  select 'Media', "MediaKey", note from media where "MediaKey" = any ($1)
) t
join pulsefeed.resource r on r.name = t.resource
join pulsefeed.record_state s on s.resource_id = r.id and s.key = t.key
where 1 = any (s.vis)`;

/**
 * Follows the feed as a consumer does: the page above the last number, then the records it names, over and over
 * until `stop` says so and the end is reached.
 */
export async function follow(url: string, stop: () => boolean): Promise<ReadFeed> {
  const db = openPostgres({ url, poolSize: 1, applicationName: 'soak-reader', statementTimeoutMs: 0 });
  const log = openLog(db);
  const feed = { numbers: [], keys: [], pages: 0, faults: [], replica: new Map() } satisfies ReadFeed;
  try {
    for (let cursor = 0n; ; ) {
      const stopping = stop();
      const next = await page(log, cursor, feed).catch(() => undefined);
      if (next === cursor && stopping) return feed;
      if (next === undefined || next === cursor) {
        await delay(pauseMs);
        continue;
      }
      // A fetch that fails is repeated: the consumer has not taken note of the page yet.
      for (let fetched = false; !fetched; ) {
        fetched = await fetchRecords(db, feed, cursor).then(
          () => true,
          () => false,
        );
        if (!fetched) await delay(pauseMs);
      }
      cursor = next;
    }
  } finally {
    await db.close();
  }
}

/** All records as they are. */
export async function readAllRecords(url: string): Promise<Replica> {
  const db = openPostgres({ url, poolSize: 1, applicationName: 'soak-verdict', statementTimeoutMs: 0 });
  try {
    const rows = await db.query<{ resource: string; key: string; note: number }>({ text: live });
    return new Map(rows.map(({ resource, key, note }) => [`${resource}/${key}`, note]));
  } finally {
    await db.close();
  }
}

async function page(log: EventLog, cursor: bigint, feed: ReadFeed & { pages: number }): Promise<bigint> {
  const { pulses, head } = await log.read({
    where: { text: 'e.seq > $1', values: [cursor] },
    limit: pageSize,
  });
  feed.pages++;
  let last = cursor;
  for (const { sequence, resource, key } of pulses) {
    if (sequence <= last) feed.faults.push(`${sequence} after ${last}`);
    if (sequence > head) feed.faults.push(`${sequence} above the head ${head}`);
    last = sequence;
    feed.numbers.push(sequence);
    feed.keys.push(`${resource}/${key}`);
  }
  return last;
}

async function fetchRecords(
  db: ReturnType<typeof openPostgres>,
  { numbers, keys, replica }: ReadFeed,
  after: bigint,
): Promise<void> {
  const from = numbers.findLastIndex(number => number <= after) + 1;
  const named = keys.slice(from);
  const bare = named.map(key => key.slice(key.indexOf('/') + 1));
  const integers = named.filter(key => key.startsWith('Showing/')).map(key => key.slice('Showing/'.length));
  const rows = await db.query<{ key: string; note: number }>({ text: served, values: [bare, integers] });
  for (const key of named) replica.delete(key);
  const wanted = new Set(named);
  for (const { key, note } of rows) if (wanted.has(key)) replica.set(key, note);
}
