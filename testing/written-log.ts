import { connect, type Db, migrate } from '../server/base/db/index.ts';

/** A pulse as a test states it; its number is its place in the list, from `first` on. */
export interface WrittenPulse {
  readonly key: string;
  readonly feeds: readonly number[];
}

/** Feeds of a written log: three with a bit, two without, and the private ones of two consumers. */
export const sharedFeeds = [1, 2, 3] as const;
export const narrowFeeds = [4, 5] as const;
export const privateFeeds = [6, 7] as const;
export const allFeeds = [...sharedFeeds, ...narrowFeeds, ...privateFeeds] as const;

/** Fills an empty database with the schema and these feeds. */
export async function buildWrittenLog(url: string): Promise<void> {
  const db = await connect({ databaseUrl: url, dataDir: '' });
  try {
    await fillWrittenLog(db);
  } finally {
    await db.close();
  }
}

/** The same on an open database. */
export async function fillWrittenLog(db: Db): Promise<void> {
  await migrate(db);
  await db.script(`
insert into pulsefeed.resource (name) values ('Note');
insert into pulsefeed.feed (id, name, bit) values (2, 'two', 1), (3, 'three', 62), (4, 'four', null), (5, 'five', null),
  (6, '~a', null), (7, '~b', null);
insert into pulsefeed.consumer (name, client_id, secret_hash, private_feed_id)
values ('a', 'a', '', 6), ('b', 'b', '', 7)`);
}

/** Empties the log, and says what the two consumers hold and which feeds show each key. */
export async function emptyWrittenLog(
  db: Db,
  held: readonly (readonly number[])[],
  vis: Readonly<Record<string, readonly number[]>>,
): Promise<void> {
  await db.script(`
-- Faster than truncate on the few rows of a test.
delete from pulsefeed.entity_event; delete from pulsefeed.event_feed; delete from pulsefeed.record_state;
delete from pulsefeed.consumer_feed; delete from pulsefeed.log_time;
delete from pulsefeed.audience where id > 1;
update pulsefeed.log_head set last_seq = 0;
update pulsefeed.compaction set done_seq = 0`);
  await db.query({
    text: `
insert into pulsefeed.consumer_feed (consumer_id, feed_id)
select c.id, h.feed from jsonb_to_recordset($1) h (private integer, feed integer)
join pulsefeed.consumer c on c.private_feed_id = h.private`,
    values: [
      JSON.stringify(
        privateFeeds.flatMap((feed, index) =>
          [...(held[index] ?? []), feed].map(holds => ({ private: feed, feed: holds })),
        ),
      ),
    ],
  });
  await db.query({
    text: `
insert into pulsefeed.record_state (resource_id, key, vis)
select (select id from pulsefeed.resource where name = 'Note'), v.key, v.vis
from jsonb_to_recordset($1) v (key text, vis integer[])`,
    values: [JSON.stringify(Object.entries(vis).map(([key, feeds]) => ({ key, vis: feeds })))],
  });
}

/** Appends pulses as the sequencer writes them: audiences, bits, postings, head, in one transaction. */
export async function writePulses(db: Db, first: bigint, pulses: readonly WrittenPulse[]): Promise<void> {
  if (pulses.length === 0) return;
  await db.transaction(async tx => {
    await tx.query({ text: 'select from pulsefeed.log_head for update' });
    await tx.query({
      text: `
with given as (
  select p.ord + $2::bigint as seq, p.key, p.feeds, md5(array_to_string(p.feeds, ',')) as digest
  from jsonb_to_recordset($1) p (ord bigint, key text, feeds integer[])
), fresh as (
  insert into pulsefeed.audience (feeds, shared, narrow, digest)
  select distinct on (g.digest) g.feeds, coalesce(f.shared, 0), coalesce(f.narrow, '{}'), g.digest
  from given g
  cross join lateral (
    select bit_or(1::bigint << bit) as shared, array_agg(id order by id) filter (where bit is null) as narrow
    from pulsefeed.feed where id = any (g.feeds)
  ) f
  where not exists (select from pulsefeed.audience a where a.digest = g.digest)
  returning id, shared, narrow, digest
), known as (
  select id, shared, narrow, digest from pulsefeed.audience union all select * from fresh
), written as (
  insert into pulsefeed.entity_event (seq, shared, audience_id, resource_id, key)
  select g.seq, k.shared, k.id, (select id from pulsefeed.resource where name = 'Note'), g.key
  from given g join known k on k.digest = g.digest
), posted as (
  insert into pulsefeed.event_feed (feed_id, seq, resource_id, key)
  select unnest(k.narrow), g.seq, (select id from pulsefeed.resource where name = 'Note'), g.key
  from given g join known k on k.digest = g.digest
)
update pulsefeed.log_head set last_seq = (select max(seq) from given)`,
      values: [
        JSON.stringify(
          pulses.map(({ key, feeds }, ord) => ({
            ord,
            key,
            feeds: [...new Set(feeds)].sort((a, b) => a - b),
          })),
        ),
        first,
      ],
    });
  });
}

/** A retained pulse with its feeds, as the bits and the postings say. */
export interface RetainedPulse {
  readonly seq: bigint;
  readonly key: string;
  readonly feeds: readonly number[];
}

/** The log as it is. @throws Error when a row's bits, its audience and its postings do not say the same. */
export async function retainedPulses(db: Db): Promise<RetainedPulse[]> {
  const rows = await db.query<{ seq: bigint; key: string; feeds: number[]; audience: number[] }>({
    text: `
select e.seq, e.key, a.feeds as audience, array(
  select f.id from pulsefeed.feed f where (e.shared >> f.bit) & 1 = 1
  union select p.feed_id from pulsefeed.event_feed p where p.seq = e.seq
  order by 1
) as feeds
from pulsefeed.entity_event e join pulsefeed.audience a on a.id = e.audience_id
order by e.seq`,
  });
  for (const { seq, feeds, audience } of rows) {
    if (feeds.join() !== audience.join())
      throw new Error(
        `pulse ${seq} is for ${feeds} by its row and postings, for ${audience} by its audience`,
      );
  }
  const [stray] = await db.query<{ seq: bigint }>({
    text: `
select p.seq from pulsefeed.event_feed p
where not exists (select from pulsefeed.entity_event e where e.seq = p.seq)`,
  });
  if (stray !== undefined) throw new Error(`a posting of pulse ${stray.seq} was left behind`);
  return rows.map(({ seq, key, feeds }) => ({ seq, key, feeds }));
}
