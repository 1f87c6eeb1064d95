import assert from 'node:assert/strict';
import { readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Command } from 'commander';
import { asyncBufferFromFile, parquetReadObjects } from 'hyparquet';
import { loadConfig } from '../server/base/config/index.ts';
import { connect } from '../server/base/db/index.ts';
import { processContext } from '../server/context.ts';
import { checkArchive } from '../server/operate/doctor/check-archive.ts';
import { defaultLimits } from '../server/operate/doctor/finding.ts';
import { openDatabase } from '../server/runtime.ts';
import {
  type ArchivedLog,
  archivedLog,
  mixedPulses,
  moveAll,
  onDatabase,
  walk,
} from '../testing/archived-log.ts';
import { atTestEnd } from '../testing/cleanup.ts';
import { embeddedFolder } from '../testing/embedded-folder.ts';
import { temporaryFolder } from '../testing/temporary-folder.ts';
import { emptyWrittenLog, fillWrittenLog, writePulses } from '../testing/written-log.ts';
import { registerArchive } from './archive-cli.ts';
import { verifyArchive } from './archive-verify.ts';
import { ArchiveLoop } from './index.ts';
import { verify } from './verify.ts';

/** Runs verbs as the program does, on one log; what they printed. */
function verbs({ url, folder }: ArchivedLog) {
  const env = { DATABASE_URL: url, PULSEFEED_ARCHIVE: folder };
  return async (...args: string[]) => {
    let text = '';
    const out = (part: string) => {
      text += part;
    };
    const context = {
      ...processContext(),
      ...{ env, out, cwd: import.meta.dirname, openDatabase },
      loadConfig: (flags: Readonly<Record<string, unknown>>) =>
        loadConfig({ flags, env, cwd: import.meta.dirname }),
      untilSignal: () => new Promise<string>(() => undefined),
    };
    const program = new Command('pulsefeed').exitOverride().configureOutput({ writeOut: out, writeErr: out });
    registerArchive(program, context);
    await program.parseAsync(['archive', ...args], { from: 'user' });
    return text;
  };
}

async function filled(count: number): Promise<ArchivedLog> {
  const log = await archivedLog();
  await emptyWrittenLog(log.db, [[1, 4]], {});
  await writePulses(log.db, 1n, mixedPulses(count));
  return log;
}

describe('pulsefeed archive', () => {
  it('moves what is older than the window, tells what is where, and proves it', async () => {
    const log = await filled(200);
    const run = verbs(log);
    await assert.rejects(run('run', '--archive-window', 'off'), { code: 'EE-700' });
    assert.equal(await run('run'), 'There was nothing to do.\n');
    const done = JSON.parse(await run('run', '--archive-window', '50 events', '--json'));
    assert.deepEqual([done.archivedTo, done.examined, done.segments], ['150', 150, 1]);
    const status = JSON.parse(await run('status', '--json'));
    assert.deepEqual(
      [status.archivedTo, status.head, status.rows, status.rowsInDatabase, status.heldForPush],
      ['150', '200', done.rows, 50, null],
    );
    assert.match(await run('verify'), /^All 1 segments with \d+ pulses are as they were written/);
    const target = (await temporaryFolder('parquet')).path;
    await run('export', '--format', 'parquet', '--to', target);
    const [file = ''] = await readdir(target);
    const rows = await parquetReadObjects({ file: await asyncBufferFromFile(join(target, file)) });
    const walked = (await walk(log.log, undefined)).filter(line => Number(line.split(' ')[0]) <= 150);
    assert.deepEqual(
      rows.map(row => `${row.EntityEventSequence} ${row.ResourceName} ${row.ResourceRecordKey}`),
      walked,
    );
    assert.equal(typeof rows[0]?.EntityEventSequence, 'bigint');
    assert.deepEqual([rows[0]?.Feeds, rows[0]?.Epoch], ['three', 1]);
  });

  it('names every bad segment, what the manifest does not name, and postings that differ', async () => {
    const log = await filled(200);
    await moveAll(log, 50, 50);
    const files = (await readdir(log.folder)).sort();
    await writeFile(join(log.folder, 'stranger.json.gz'), '');
    assert.deepEqual(await verifyArchive(log.db, log.archive), {
      ...(await verifyArchive(log.db, log.archive)),
      ...{ segments: 3, faults: [], strangers: ['stranger.json.gz'] },
    });
    await log.db.query({ text: 'delete from pulsefeed.event_feed where feed_id = 4 and seq <= 50' });
    const posted = await verifyArchive(log.db, log.archive);
    assert.match(posted.faults.join(), /of \d+ postings \d+ are in the database/);
    await writeFile(join(log.folder, files[1] ?? ''), 'x');
    await rm(join(log.folder, files[2] ?? ''));
    const { faults } = await verifyArchive(log.db, log.archive);
    assert.match(faults.join('\n'), /Numbers 51 to 100 .*size or checksum/);
    assert.match(faults.join('\n'), /Numbers 101 to 150 .*missing/);
    const exitCode = process.exitCode;
    assert.match(await verbs(log)('verify'), /checksum differs/);
    assert.equal(process.exitCode, 1);
    process.exitCode = exitCode;
  });

  it('stays behind webhooks: an active subscription, and dead letters that may be sent again', async () => {
    const log = await filled(200);
    const run = verbs(log);
    const moved = async () =>
      JSON.parse(await run('run', '--archive-window', '0', '--json')).archivedTo as string;
    await log.db.script(`
insert into pulsefeed.push_subscription (id, consumer_id, callback_url, max_events, max_bytes, max_wait_ms,
  requests_per_minute, expand_record, signature, on_rejected, reject_tries, retry_schedule, retry_for_s, secret,
  cursor_seq, epoch, origin_seq, begun_seq)
select 's', id, 'https://example.org', 1, 1, 1, 1, false, 'hmac', 'pause', 1, '{1}', 1, '', 120, 1, 0, 0
from pulsefeed.consumer where name = 'a';
insert into pulsefeed.push_dead_letter (subscription_id, seq, resource, key) values ('s', 61, 'Note', 'k')`);
    assert.equal(await moved(), '60');
    assert.match(await run('status'), /Webhooks hold back what is above 60/);
    await log.db.script(`update pulsefeed.push_dead_letter set state = 'sent'`);
    assert.equal(await moved(), '120');
    await log.db.script(`update pulsefeed.push_subscription set state = 'paused'`);
    assert.equal(await moved(), '200');
  });
});

describe('what else reads the log, once it is archived', () => {
  it('compact verify finds the last pulse of a record in a segment, and misses it when it is in none', async () => {
    const log = await archivedLog();
    await emptyWrittenLog(log.db, [], { k1: [1, 4], k2: [1] });
    await writePulses(log.db, 1n, [
      { key: 'k1', feeds: [1, 4] },
      { key: 'k2', feeds: [1] },
      { key: 'k2', feeds: [1] },
    ]);
    await moveAll(log, 1, 1);
    const options = { ...log, lag: { events: 0n }, limit: 100 };
    assert.equal((await verify(options)).records, 2n);
    await log.db.script(`update pulsefeed.record_state set vis = '{1,2,4}' where key = 'k1'`);
    await assert.rejects(verify(options), /EE-600|feed two shows Note k1/);
  });

  it('doctor says that segments are missing, or that nothing says where they are', async () => {
    const log = await filled(100);
    const config = await loadConfig({
      env: { DATABASE_URL: log.url, PULSEFEED_ARCHIVE: log.folder },
      cwd: import.meta.dirname,
    });
    const patient = { config, db: log.db, limits: defaultLimits, now: () => 0, full: false };
    assert.deepEqual(await checkArchive(patient), []);
    await moveAll(log, 50, 0);
    assert.deepEqual(
      (await checkArchive(patient)).map(({ level }) => level),
      ['ok'],
    );
    await rm(join(log.folder, (await readdir(log.folder))[0] ?? ''));
    assert.match((await checkArchive(patient))[0]?.message ?? '', /^1 of 2 segments are missing/);
    const unset = { ...config, settings: { ...config.settings, archive: undefined } };
    assert.match(
      (await checkArchive({ ...patient, config: unset }))[0]?.message ?? '',
      /no setting `archive`/,
    );
  });
});

describe('the archive of an embedded database', () => {
  it('is filled by the loop of serve in whole parts, and read through', async () => {
    const { path } = await embeddedFolder('embedded');
    const db = await connect({ dataDir: path });
    atTestEnd(() => db.close());
    await fillWrittenLog(db);
    const log = onDatabase(db, '', (await temporaryFolder('archive')).path);
    await emptyWrittenLog(db, [[1, 4]], {});
    await writePulses(db, 1n, mixedPulses(120));
    await log.log.retire({ lag: { events: 0n }, limit: 1_000 });
    const before = [
      await walk(log.log, undefined, { pageSize: 40 }),
      await walk(log.log, 1, { pageSize: 40 }),
    ];
    const seen: string[] = [];
    let idle: () => void = () => undefined;
    const rested = new Promise<void>(resolve => {
      idle = resolve;
    });
    const loop = new ArchiveLoop({
      ...{ db, archive: log.archive, window: { events: 20n }, rows: 15, idleMs: 60_000 },
      observe: observation => {
        seen.push(observation.kind);
        if (seen.length === 2) idle();
      },
    });
    loop.start();
    await rested;
    await loop.stop();
    assert.deepEqual(new Set(seen), new Set(['Archived']));
    assert.deepEqual(
      [await walk(log.log, undefined, { pageSize: 40 }), await walk(log.log, 1, { pageSize: 40 })],
      before,
    );
  });
});
