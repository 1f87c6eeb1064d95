import { parseArgs } from 'node:util';
import { connect, type Db } from '../server/base/db/index.ts';
import { cleanUp } from '../testing/cleanup.ts';
import { privateServer } from '../testing/postgres.ts';
import { withConnection } from '../testing/with-connection.ts';
import { measureFlip } from './visibility-flip.ts';
import { measureReading } from './visibility-reading.ts';
import { measureRuleEdit } from './visibility-rule-edit.ts';

/**
 * Measures visibility at size: `npx tsx bench/visibility.ts [--only reading|flip|rules] [--pulses 5000000]
 * [--offices 5000] [--listings 20000] [--photos 200000] [--records 1000000] [--flips 100000]`.
 *
 * - reading: polls and pages of many feeds against the same on a log of one feed;
 * - flip: one office leaves a feed with all its listings and photos, while others write;
 * - rules: an edit flips a part of all records, while others write and read.
 *
 * Everything runs on a Postgres of its own with 1 GB of shared buffers and 4 GB of write-ahead log. Rows are made
 * set-wise in SQL; nothing that is measured is.
 */
const { values: flags } = parseArgs({
  options: {
    only: { type: 'string' },
    pulses: { type: 'string', default: '5000000' },
    offices: { type: 'string', default: '5000' },
    listings: { type: 'string', default: '20000' },
    photos: { type: 'string', default: '200000' },
    records: { type: 'string', default: '1000000' },
    flips: { type: 'string', default: '100000' },
    explain: { type: 'boolean', default: false },
  },
});

async function main(): Promise<void> {
  const settings = { shared_buffers: '1GB', max_wal_size: '4GB', wal_level: 'replica' };
  const server = await privateServer({ settings });
  const databases: Db[] = [];
  const open = async (name: string, fill: (url: string) => Promise<void>): Promise<Db> => {
    await withConnection(server.url, client => client.query(`create database ${name}`));
    const url = new URL(server.url);
    url.pathname = `/${name}`;
    await fill(url.href);
    const db = await connect({ databaseUrl: url.href, dataDir: '', poolSize: 8 });
    databases.push(db);
    return db;
  };
  const closeAll = async () => {
    for (const db of databases.splice(0)) await db.close();
  };
  const wanted = (name: string) => flags.only === undefined || flags.only === name;
  if (wanted('reading')) {
    const sizes = { pulses: Number(flags.pulses), offices: Number(flags.offices), explain: flags.explain };
    await measureReading(open, sizes);
    await closeAll();
  }
  if (wanted('flip')) {
    await measureFlip(open, { listings: Number(flags.listings), photos: Number(flags.photos) });
    await closeAll();
  }
  if (wanted('rules')) {
    await measureRuleEdit(open, { records: Number(flags.records), flips: Number(flags.flips) });
    await closeAll();
  }
}

main()
  .catch((error: unknown) => {
    process.stderr.write(`${error instanceof Error ? error.stack : String(error)}\n`);
    process.exitCode = 1;
  })
  .finally(() => cleanUp('run'));
