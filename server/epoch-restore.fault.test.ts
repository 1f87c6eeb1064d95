import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { appendFile, cp, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { memoryStore, replicate, verify } from '../client/index.ts';
import { openFeedRuntime } from '../testing/captured-feed.ts';
import { atTestEnd } from '../testing/cleanup.ts';
import { privateServer, testDatabase } from '../testing/postgres.ts';
import { systemPostgres } from '../testing/system-postgres.ts';
import { temporaryFolder, unprivilegedIdentity } from '../testing/temporary-folder.ts';
import { withConnection } from '../testing/with-connection.ts';
import { createReporter } from './base/report.ts';
import { installCapture } from './capture/index.ts';
import { dense, listEpochs, openEpochByHand } from './log/index.ts';
import type { Runtime } from './runtime.ts';
import { serve } from './serve.ts';

const resources = [{ name: 'Property', table: 'public.property', key: 'ListingKey' }];
const run = promisify(execFile);
const longRun = process.env.PULSEFEED_TORTURE !== undefined;

/** A feed that is served, numbered by hand, and gone again when the database is taken from under it. */
interface Feed {
  readonly url: string;
  readonly runtime: Runtime;
  write(sql: string): Promise<void>;
  /** Number -> key of everything in the log. */
  numbers(): Promise<Map<bigint, string>>;
  close(): Promise<void>;
}

async function openServed(databaseUrl: string, port = 0): Promise<Feed> {
  const opened = await openFeedRuntime(databaseUrl, resources);
  const settings = { ...opened.config.settings, sequencer: false, host: '127.0.0.1' };
  const runtime = { ...opened, config: { ...opened.config, settings } };
  const served = await serve(runtime, createReporter('silent'), { port });
  let closing: Promise<void> | undefined;
  const close = () => {
    closing ??= served.stop().then(() => runtime.close());
    return closing;
  };
  atTestEnd(close);
  return {
    url: served.url,
    runtime,
    close,
    async write(sql) {
      await runtime.db.transaction(tx => tx.script(sql));
      const sequencer = runtime.sequencer();
      for (let step = 0; (await sequencer.step()).kind === 'numbered'; step += 1) assert.ok(step < 1_000);
      await sequencer.close();
    },
    async numbers() {
      const rows = await runtime.db.query<{ seq: bigint; key: string }>({
        text: 'select seq, key from pulsefeed.entity_event',
      });
      return new Map(rows.map(({ seq, key }) => [seq, key]));
    },
  };
}

interface Page {
  readonly value: readonly { EntityEventSequence: number; ResourceRecordKey: string }[];
  readonly '@odata.nextLink'?: string;
  readonly '@odata.deltaLink'?: string;
}

const tracked = { Prefer: 'odata.track-changes, odata.maxpagesize=10' };

async function ask(url: string): Promise<{
  status: number;
  location: string | null;
  json: Page;
  error: { code: string; message: string } | undefined;
}> {
  const answer = await fetch(url, { headers: tracked });
  const text = await answer.text();
  const json = text.startsWith('{') ? JSON.parse(text) : {};
  return { status: answer.status, location: answer.headers.get('location'), json, error: json.error };
}

const filtered = (feed: Feed, filter: string) =>
  `${feed.url}/EntityEvent?$filter=${encodeURIComponent(`EntityEventSequence ${filter}`)}`;

const nextLink = async (url: string) => {
  const link = (await ask(url)).json['@odata.nextLink'];
  assert.ok(link !== undefined, url);
  return link;
};

async function deltaLink(url: string): Promise<string> {
  for (let page = (await ask(url)).json; ; page = (await ask(page['@odata.nextLink'] ?? '')).json) {
    if (page['@odata.deltaLink'] !== undefined) return page['@odata.deltaLink'];
  }
}

/** What consumers hold when the database goes back: positions from before the backup, and from the lost window. */
interface Held {
  readonly store: ReturnType<typeof memoryStore>;
  readonly early: string;
  readonly lost: readonly string[];
  readonly from: bigint;
  readonly issued: ReadonlyMap<bigint, string>;
}

const provide = `
create table property ("ListingKey" text primary key, note integer not null default 0);
insert into property select 'early ' || g from generate_series(1, 40) g`;

async function beforeBackup(feed: Feed): Promise<void> {
  await installCapture(feed.runtime.db, feed.runtime.tables);
  await feed.write('update property set note = 1');
}

/** A thousand events and more, which the backup does not have. */
async function goOn(feed: Feed): Promise<Held> {
  const store = memoryStore();
  await replicate({ url: feed.url, store });
  const early = await nextLink(filtered(feed, 'ge 0'));
  const from = (await feed.runtime.log.head()).head;
  await feed.write(`insert into property select 'lost ' || g from generate_series(1, 1000) g`);
  await feed.write(
    `delete from property where "ListingKey" = 'early 1'; update property set note = 2 where "ListingKey" = 'early 2'`,
  );
  await replicate({ url: feed.url, store });
  const lost = [
    // Those that prove nothing come first: the gap is not to rest on what a token tells.
    ...[1n, 2n, 500n, 1_002n].map(n => filtered(feed, `gt ${from + n}`)),
    ...[2n, 1_002n].map(n => filtered(feed, `ge ${from + n}`)),
    filtered(feed, `gt ${from + 3n} and ResourceName eq 'Property'`),
    filtered(feed, `gt ${from + 3n}`).replace('EntityEvent?', 'EntityEvent/$count?'),
    await nextLink(filtered(feed, `gt ${from + 100n}`)),
    await deltaLink(filtered(feed, `gt ${from + 1_000n}`)),
  ];
  return { store, early, lost, from, issued: await feed.numbers() };
}

/** The database is back where the backup was; `held` is what consumers come with. */
async function checkAfterwards(feed: Feed, held: Held): Promise<void> {
  const { from, issued, store } = held;
  for (const question of held.lost) {
    const { status, error, location } = await ask(question);
    assert.equal(status, 410, question);
    assert.equal(error?.code, 'EE-105');
    assert.match(error?.message ?? '', /Start again with \$filter=EntityEventSequence ge 0/);
    if (location !== null) assert.equal((await ask(location)).status, 200);
  }
  await feed.write(
    `update property set note = 7 where "ListingKey" <= 'early 2'; insert into property values ('lost 5', 5), ('new', 1)`,
  );
  for (const question of held.lost) assert.equal((await ask(question)).status, 410, question);

  const after = await feed.numbers();
  for (const [number, key] of after) {
    if (number <= from) assert.equal(issued.get(number), key);
    else assert.equal(issued.has(number), false, `${number} was given out twice`);
  }
  const walked = [];
  for (let link: string | undefined = held.early; link !== undefined; ) {
    const { status, json } = await ask(link);
    assert.equal(status, 200);
    walked.push(...json.value.map(row => BigInt(row.EntityEventSequence)));
    link = json['@odata.nextLink'];
  }
  assert.deepEqual(walked, [...after.keys()].sort((a, b) => (a < b ? -1 : 1)).slice(10));
  assert.equal((await ask(filtered(feed, `gt ${from}`))).status, 200);

  // The copy met the lost window; it notices by itself and ends equal to its source.
  await replicate({ url: feed.url, store });
  const { differences, checked } = await verify({ url: feed.url, store });
  assert.deepEqual(differences, []);
  assert.equal(checked, 42);
}

/** A way to write a database down and to bring it back. */
interface Backup {
  readonly name: string;
  /** A database to begin with. */
  open(): Promise<string>;
  take(url: string): Promise<void>;
  /** Returns where the restored database is. */
  restore(url: string): Promise<string>;
}

/** Row by row, as a dump does it, where its programs are not installed. */
function rowsBackup(): Backup {
  const listed = `
select format('%I.%I', schemaname, tablename) as of, format('saved.%I', schemaname || ' ' || tablename) as kept
from pg_tables where schemaname in ('public', 'pulsefeed')`;
  const each = (url: string, sql: (of: string, kept: string) => string) =>
    withConnection(url, async client => {
      const { rows } = await client.query<{ of: string; kept: string }>(listed);
      await client.query(`begin; ${rows.map(({ of, kept }) => sql(of, kept)).join(';\n')}; commit`);
    });
  return {
    name: 'row by row',
    async open() {
      const { url, drop } = await testDatabase();
      atTestEnd(drop);
      return url;
    },
    async take(url) {
      await withConnection(url, client => client.query('create schema saved'));
      await each(url, (of, kept) => `create table ${kept} as table ${of}`);
    },
    async restore(url) {
      await each(
        url,
        (of, kept) => `set local session_replication_role = replica;
alter table ${of} disable trigger all; delete from ${of}; insert into ${of} overriding system value select * from ${kept};
alter table ${of} enable trigger all`,
      );
      await withConnection(url, client => client.query('drop schema saved cascade'));
      return url;
    },
  };
}

/** `pg_dump` of the system, into the same cluster under another name: what no identity of the server can tell. */
function dumps(): Backup[] {
  it('costs nobody anything when it was none: copies, links and numbers go on', async () => {
    const { url, drop } = await testDatabase();
    atTestEnd(drop);
    await withConnection(url, client => client.query(provide));
    const feed = await openServed(url);
    await beforeBackup(feed);
    const store = memoryStore();
    const notices: string[] = [];
    const follow = () => replicate({ url: feed.url, store, onNotice: ({ code }) => notices.push(code) });
    await follow();
    const { head } = await feed.runtime.log.head();
    const links = [
      await nextLink(filtered(feed, 'ge 0')),
      await deltaLink(filtered(feed, 'ge 0')),
      ...[0n, 7n, head].map(n => filtered(feed, `gt ${n}`)),
    ];
    await openEpochByHand(feed.runtime.db, dense);
    const fresh = await deltaLink(filtered(feed, 'ge 0'));
    await feed.write(`update property set note = 9 where "ListingKey" = 'early 3'`);
    for (const link of [...links, fresh]) assert.equal((await ask(link)).status, 200, link);
    assert.equal((await ask(fresh)).json.value.length, 1);
    await follow();
    assert.deepEqual((await verify({ url: feed.url, store })).differences, []);
    assert.ok(notices.includes('epoch') && !notices.includes('reinitialise'), notices.join());
    await feed.close();
  });

  const system = systemPostgres();
  if (system === undefined) return [];
  const { binaries, pgDump, pgRestore, psql } = system;
  const dumped = (format: 'custom' | 'plain'): Backup => {
    const file = temporaryFolder('dump').then(({ path }) => join(path, 'dump'));
    return {
      name: `pg_dump, ${format}`,
      open: async () => (await privateServer({ binaries })).url,
      take: async url => void (await run(pgDump, ['-d', url, '-F', format, '-f', await file])),
      async restore(url) {
        await withConnection(url, client => client.query('create database restored'));
        const restored = url.replace(/postgres$/, 'restored');
        if (format === 'custom') await run(pgRestore, ['-d', restored, '--exit-on-error', await file]);
        else await run(psql, ['-d', restored, '-q', '-v', 'ON_ERROR_STOP=1', '-f', await file]);
        return restored;
      },
    };
  };
  return longRun ? [dumped('custom'), dumped('plain')] : [dumped('custom')];
}

describe('a database that goes back to its backup', function () {
  this.timeout(120_000);

  const dumped = dumps();
  for (const backup of dumped.length > 0 && !longRun ? dumped : [rowsBackup(), ...dumped]) {
    it(`loses no consumer and gives no number twice: ${backup.name}`, async () => {
      const url = await backup.open();
      await withConnection(url, client => client.query(provide));
      const feed = await openServed(url);
      await beforeBackup(feed);
      await backup.take(url);
      const held = await goOn(feed);
      await feed.close();
      const restored = await openServed(await backup.restore(url), Number(new URL(feed.url).port));
      await checkAfterwards(restored, held);
    });
  }

  it('loses no consumer and gives no number twice: a cold copy of the folder, with `epoch new`', async () => {
    const postgres = await privateServer();
    await withConnection(postgres.url, client => client.query(provide));
    const feed = await openServed(postgres.url);
    await beforeBackup(feed);
    await feed.close();
    await postgres.stop('fast');
    const copy = `${postgres.dataDir}-copy`;
    await copyFolder(postgres.dataDir, copy);
    await postgres.start();
    const port = Number(new URL(feed.url).port);
    const again = await openServed(postgres.url, port);
    const held = await goOn(again);
    await again.close();
    await postgres.stop('fast');
    await rename(postgres.dataDir, `${postgres.dataDir}-left`);
    await rename(copy, postgres.dataDir);
    await postgres.start();
    const restored = await openServed(postgres.url, port);
    await openEpochByHand(restored.runtime.db, dense);
    await checkAfterwards(restored, held);
  });

  const system = systemPostgres();
  if (system !== undefined && longRun) {
    it('loses no consumer and gives no number twice: recovery to a point in time', async () => {
      const { binaries, pgBasebackup } = system;
      const [primary, spare] = [await privateServer({ binaries }), await privateServer({ binaries })];
      await spare.stop('fast');
      await withConnection(primary.url, client => client.query(provide));
      const feed = await openServed(primary.url);
      await beforeBackup(feed);
      await rm(spare.dataDir, { recursive: true });
      await run(pgBasebackup, ['-d', primary.url, '-D', spare.dataDir, '-X', 'stream', '--checkpoint=fast']);
      const held = await goOn(feed);
      await feed.close();
      await primary.stop('fast');
      const recovery = `restore_command = 'false'\nrecovery_target = 'immediate'\nrecovery_target_action = 'promote'\nhot_standby = off\n`;
      await appendFile(join(spare.dataDir, 'postgresql.conf'), recovery);
      await writeFile(join(spare.dataDir, 'recovery.signal'), '');
      const identity = unprivilegedIdentity();
      if (identity !== undefined)
        await run('chown', ['-R', `${identity.uid}:${identity.gid}`, spare.dataDir]);
      await spare.start();
      const url = new URL(primary.url);
      url.port = String(spare.port);
      const restored = await openServed(url.href, Number(new URL(feed.url).port));
      // The first step of a sequencer, which asks its server who it is.
      await restored.write('');
      const [epoch] = (await listEpochs(restored.runtime.db)).slice(1);
      assert.deepEqual([epoch?.reason, epoch?.lost_after], ['moved', held.from]);
      await checkAfterwards(restored, held);
    });
  }

  it('is noticed without `epoch new` too, by the first token from the lost window', async () => {
    const { url, drop } = await testDatabase();
    atTestEnd(drop);
    await withConnection(url, client => client.query(provide));
    const feed = await openServed(url);
    await beforeBackup(feed);
    const held = await goOn(feed);
    await feed.close();
    // As a snapshot of the machine leaves it: every row says what it said, and no process remembers.
    await withConnection(url, client =>
      client.query(`
begin;
delete from pulsefeed.entity_event where seq > ${held.from};
update pulsefeed.log_head set last_seq = ${held.from};
commit`),
    );
    const restored = await openServed(url, Number(new URL(feed.url).port));
    const [plain, token] = [held.lost[0] ?? '', held.lost.at(-1) ?? ''];
    assert.equal((await ask(plain)).status, 200, 'a plain number proves nothing');
    assert.equal((await ask(token)).status, 410);
    assert.equal((await ask(plain)).status, 410);
    await restored.close();
  });
});

/** With owners and modes, without which Postgres does not start. */
async function copyFolder(from: string, to: string): Promise<void> {
  if (process.platform === 'win32') await cp(from, to, { recursive: true });
  else await run('cp', ['-a', from, to]);
}
