import { parseArgs } from 'node:util';
import { connect, type Db } from '../server/base/db/index.ts';
import { Archive, archiveStep, type EventLog, openLog, openStore } from '../server/log/index.ts';
import { cleanUp } from '../testing/cleanup.ts';
import { testDatabase } from '../testing/postgres.ts';
import { temporaryFolder } from '../testing/temporary-folder.ts';
import { buildWrittenLog, emptyWrittenLog } from '../testing/written-log.ts';

/**
 * Measures pages of 1,000 at random places, from the table and then through the archive, and how fast and how small the
 * archive is made: `npx tsx bench/archive.ts [--rows 500000]`. The log has that many pulses of as many records, for one
 * of two sets of shared feeds, one in ten for a narrow feed besides.
 */
const { values: flags } = parseArgs({ options: { rows: { type: 'string', default: '500000' } } });
const rows = Number(flags.rows);
const pages = 300;
const print = (name: string, value: string) => process.stdout.write(`${name.padEnd(44)} ${value}\n`);

async function fill(db: Db): Promise<void> {
  await emptyWrittenLog(db, [[1], [4]], {});
  await db.script(`
insert into pulsefeed.audience (id, feeds, shared, narrow, digest) values
  (11, '{1,2}', 3, '{}', md5('1,2')), (13, '{1,4}', 1, '{4}', md5('1,4'));
insert into pulsefeed.entity_event (seq, shared, audience_id, resource_id, key)
select n, case when n % 10 = 0 then 1 else 3 end, case when n % 10 = 0 then 13 else 11 end,
  (select id from pulsefeed.resource), 'K' || lpad((n::bigint * 7919 % ${rows})::text, 9, '0')
from generate_series(1, ${rows}) n;
insert into pulsefeed.event_feed (feed_id, seq, resource_id, key)
select 4, seq, resource_id, key from pulsefeed.entity_event where audience_id = 13;
update pulsefeed.log_head set last_seq = ${rows};
analyze`);
}

/** Median and 99th percentile in milliseconds of pages above `from(n)`. */
async function measure(log: EventLog, consumer: number, from: (page: number) => bigint): Promise<string> {
  const times: number[] = [];
  for (let page = 0; page < pages; page += 1) {
    const after = from(page);
    const startedAt = performance.now();
    await log.read({
      where: { text: 'e.seq > $1', values: [after] },
      ...{ above: after, seekOnly: true, limit: 1_000 },
      held: first => ({
        text: `select feed_id from pulsefeed.consumer_feed where consumer_id = $${first}::integer`,
        values: [consumer],
      }),
    });
    times.push(performance.now() - startedAt);
  }
  times.sort((a, b) => a - b);
  const at = (share: number) => (times[Math.floor(times.length * share)] ?? 0).toFixed(1);
  return `${at(0.5)} ms, p99 ${at(0.99)} ms`;
}

async function main(): Promise<void> {
  const { url } = await testDatabase({ template: buildWrittenLog, name: 'written' });
  const db = await connect({ databaseUrl: url, dataDir: '' });
  const { path } = await temporaryFolder('archive');
  try {
    await fill(db);
    const archive = new Archive(openStore(path));
    const log = openLog(db, undefined, archive);
    const random = (page: number) => BigInt((page * 104_729 * 31) % (rows - 20_000));
    const walking = (page: number) => BigInt((page * 1_000) % (rows - 20_000));
    const told = async (where: string) => {
      print(`${where}: shared feed, random places`, await measure(log, 1, random));
      print(`${where}: shared feed, a walk`, await measure(log, 1, walking));
      print(`${where}: narrow feed, random places`, await measure(log, 2, random));
    };
    await told('table');
    const startedAt = performance.now();
    let bytes = 0;
    for (;;) {
      const outcome = await archiveStep(db, archive, {
        ...{ window: { events: 0n }, rows: 50_000, wholeParts: false },
      });
      if (outcome.kind !== 'archived') break;
      bytes += outcome.bytes;
    }
    const seconds = (performance.now() - startedAt) / 1_000;
    print(
      'moved',
      `${Math.round(rows / seconds)} pulses a second, ${(bytes / rows).toFixed(1)} bytes a pulse`,
    );
    await told('archive');
  } finally {
    await db.close();
    await cleanUp('run');
  }
}

await main();
