import { connect, type Db } from '../../server/base/db/index.ts';
import { buildWrittenLog } from '../../testing/written-log.ts';

/** Pulses of the log that `buildFilledLog` writes: enough for a run to sweep them. */
export const filledPulses = 110_000;

/** Fills an empty database with a log of many pulses over a tenth as many records, shared and narrow, not compacted. */
export async function buildFilledLog(url: string): Promise<void> {
  await buildWrittenLog(url);
  const db = await connect({ databaseUrl: url, dataDir: '' });
  try {
    await db.script(`
insert into pulsefeed.audience (id, feeds, shared, narrow, digest) values
  (11, '{1,2}', 3, '{}', md5('1,2')), (12, '{2}', 2, '{}', md5('2')), (13, '{1,4}', 1, '{4}', md5('1,4'));
insert into pulsefeed.entity_event (seq, shared, audience_id, resource_id, key)
select n, (array[3, 2, 1])[a], 10 + a, (select id from pulsefeed.resource), 'k' || n * 7 % ${filledPulses / 10}
from (
  select n, 1 + (hashtext(n::text) & 1) + n % 2 as a from generate_series(1, ${filledPulses}) n
) g;
insert into pulsefeed.event_feed (feed_id, seq, resource_id, key)
select 4, seq, resource_id, key from pulsefeed.entity_event where audience_id = 13;
update pulsefeed.log_head set last_seq = ${filledPulses}`);
  } finally {
    await db.close();
  }
}

/** The numbers, bits and audiences of all that is retained, and the postings, in one word. */
export async function digestOfLog(db: Db): Promise<string | undefined> {
  const [row] = await db.query<{ digest: string }>({
    text: `
select md5(
  (select string_agg(e.seq || ' ' || e.shared || ' ' || a.digest, ',' order by e.seq)
   from pulsefeed.entity_event e join pulsefeed.audience a on a.id = e.audience_id) ||
  (select string_agg(feed_id || ' ' || seq, ',' order by feed_id, seq) from pulsefeed.event_feed)
) as digest`,
  });
  return row?.digest;
}
