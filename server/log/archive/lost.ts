import type { Queryable } from '../../base/db/index.ts';
import type { Archive } from './archive.ts';
import { archivedTo } from './manifest.ts';
import { firstAbove } from './segment.ts';

/** What one part of a walk over the archive did; `end` is undefined when there was nothing left. */
export interface ArchiveWalkPart {
  readonly queued: number;
  readonly end: bigint | undefined;
}

/**
 * Of the records behind the next `limit` archived pulses above `after`, queues those that have one in a feed that was
 * lost, to be told to one private feed: as `queueLost` for the table, which is walked first. Whatever is archived
 * meanwhile lies further on. A record that the table told of may be told of again, which does no harm.
 * @throws EE-304 when the archive cannot be read: the revocation then waits, it is not ended.
 */
export async function queueLostInArchive(
  tx: Queryable,
  archive: Archive,
  after: bigint,
  lost: readonly number[],
  privateFeed: string,
  limit: number,
): Promise<ArchiveWalkPart> {
  const end = await archivedTo(tx);
  for await (const entry of archive.parts(tx, after, end)) {
    if (entry.file === null) continue;
    const segment = await archive.load(entry);
    const from = firstAbove(segment, after);
    if (from === segment.seqs.length) continue;
    const to = Math.min(segment.seqs.length, from + limit);
    const wanted = segment.audiences.map(({ feeds }) => feeds.some(feed => lost.includes(feed)));
    const records = new Map<string, { resourceId: number; key: string }>();
    for (let row = from; row < to; row += 1) {
      if (wanted[segment.audienceOf[row] ?? 0] !== true) continue;
      const resourceId = segment.resourceIds[row] ?? 0;
      const key = segment.keys[row] ?? '';
      records.set(`${resourceId}/${key}`, { resourceId, key });
    }
    const queued = await queue(tx, [...records.values()], privateFeed);
    return { queued, end: segment.seqs[to - 1] };
  }
  return { queued: 0, end: undefined };
}

async function queue(
  tx: Queryable,
  records: readonly { resourceId: number; key: string }[],
  privateFeed: string,
): Promise<number> {
  if (records.length === 0) return 0;
  const queued = await tx.query({
    text: `
insert into pulsefeed.record_change (op, resource, key, feeds)
select 'w', r.name, k.key, array[$3::text]
from unnest($1::smallint[], $2::text[]) k (resource_id, key)
join pulsefeed.resource r on r.id = k.resource_id
returning 1`,
    values: [records.map(({ resourceId }) => resourceId), records.map(({ key }) => key), privateFeed],
  });
  return queued.length;
}
