import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { parquetWriteFile } from 'hyparquet-writer';
import type { Queryable } from '../server/base/db/index.ts';
import { type Archive, archivedTo, type Segment } from '../server/log/index.ts';

/** What was exported. */
export interface Exported {
  readonly files: number;
  readonly rows: number;
}

/**
 * Writes the archive as Parquet, a file a segment, into a folder: EntityEventSequence (INT64), ResourceName,
 * ResourceRecordKey, Feeds (the names of all feeds the pulse is for, with a comma between them) and Epoch. Feeds are the
 * operator's to know: this is not for consumers. Files of an earlier export are written over with the same content.
 * @throws EE-304 when a segment cannot be read.
 */
export async function exportParquet(
  db: Queryable,
  archive: Archive,
  folder: string,
  onPart: (upTo: bigint, end: bigint) => void = () => undefined,
): Promise<Exported> {
  await mkdir(folder, { recursive: true });
  const names = new Map<number, string>();
  for (const { id, name } of await db.query<{ id: number; name: string }>({
    text: 'select id, name from pulsefeed.feed',
  })) {
    names.set(id, name);
  }
  const end = await archivedTo(db);
  let files = 0;
  let rows = 0;
  for await (const entry of archive.parts(db, 0n, end)) {
    onPart(entry.upTo, end);
    if (entry.file === null) continue;
    writeParquet(join(folder, `${entry.file.split('.')[0]}.parquet`), await archive.load(entry), names);
    files += 1;
    rows += entry.rows;
  }
  return { files, rows };
}

function writeParquet(filename: string, segment: Segment, names: ReadonlyMap<number, string>): void {
  const resources = new Map(segment.resources);
  const feeds = segment.audiences.map(audience =>
    audience.feeds.map(feed => names.get(feed) ?? String(feed)).join(','),
  );
  const column = (name: string, data: readonly string[]) => ({
    name,
    data: [...data],
    type: 'STRING' as const,
    nullable: false,
  });
  parquetWriteFile({
    filename,
    columnData: [
      { name: 'EntityEventSequence', data: segment.seqs, type: 'INT64', nullable: false },
      column(
        'ResourceName',
        Array.from(segment.resourceIds, id => resources.get(id) ?? ''),
      ),
      column('ResourceRecordKey', segment.keys),
      column(
        'Feeds',
        Array.from(segment.audienceOf, place => feeds[place] ?? ''),
      ),
      {
        name: 'Epoch',
        data: new Int32Array(segment.seqs.length).fill(segment.epoch),
        type: 'INT32',
        nullable: false,
      },
    ],
    kvMetadata: [
      { key: 'pulsefeed.after', value: segment.after.toString() },
      { key: 'pulsefeed.upTo', value: segment.upTo.toString() },
    ],
  });
}
