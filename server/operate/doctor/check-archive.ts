import { archivedTo } from '../../log/index.ts';
import { openArchive } from '../../runtime.ts';
import { type Finding, fail, ok, type Patient } from './finding.ts';

/** Can every archived number be reached? Files are only looked for; `archive verify` reads them. */
export async function checkArchive({ config, db }: Patient): Promise<Finding[]> {
  const end = await archivedTo(db);
  if (end === 0n) return [];
  const { store } = openArchive(config);
  if (store === undefined) {
    return [
      fail(
        'archive',
        `Numbers up to ${end} are archived, and no setting \`archive\` says where: whoever asks for them gets 503.`,
        'Set `archive` as it was when they were moved.',
      ),
    ];
  }
  const entries = await db.query<{ file: string; upTo: bigint }>({
    text: 'select file, up_to as "upTo" from pulsefeed.archive_segment where file is not null order by up_to',
  });
  const listed = new Set(await store.list());
  const missing = entries.filter(({ file }) => !listed.has(file));
  if (missing.length > 0) {
    return [
      fail(
        'archive',
        `${missing.length} of ${entries.length} segments are missing from ${store.location}, the first is ${missing[0]?.file}: whoever asks for their numbers gets 503.`,
        'Put them back from a backup, then run `pulsefeed archive verify`.',
      ),
    ];
  }
  return [ok('archive', `Numbers up to ${end} are archived, and all ${entries.length} segments are there.`)];
}
