import type { Db, Queryable } from '../server/base/db/index.ts';

/** Bytes on disk. */
export interface LogSize {
  readonly log: bigint;
  readonly logIndexes: bigint;
  readonly postings: bigint;
  readonly postingsIndex: bigint;
}

/** What the log takes on disk, indexes apart. */
export async function logSize(db: Queryable): Promise<LogSize> {
  const [row] = await db.query<{
    log: bigint;
    log_indexes: bigint;
    postings: bigint;
    postings_index: bigint;
  }>({
    text: `
select pg_table_size('pulsefeed.entity_event') as log, pg_indexes_size('pulsefeed.entity_event') as log_indexes,
  pg_table_size('pulsefeed.event_feed') as postings, pg_indexes_size('pulsefeed.event_feed') as postings_index`,
  });
  return {
    log: row?.log ?? 0n,
    logIndexes: row?.log_indexes ?? 0n,
    postings: row?.postings ?? 0n,
    postingsIndex: row?.postings_index ?? 0n,
  };
}

/**
 * Makes the space of dropped pulses usable and gives back what can be without a lock that readers or the sequencer
 * would meet: vacuum frees rows and cuts free pages off the end; the indexes, whose pages stay as sparse as what is
 * left in them, are built anew beside the old ones. The table itself keeps its size and fills up again.
 */
export async function reclaim(db: Db): Promise<void> {
  for (const table of ['entity_event', 'event_feed']) {
    await db.query({ text: `vacuum (analyze) pulsefeed.${table}` });
    await db.query({
      text: `reindex table ${db.engine === 'postgres' ? 'concurrently' : ''} pulsefeed.${table}`,
    });
  }
}
