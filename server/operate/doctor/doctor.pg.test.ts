import assert from 'node:assert/strict';
import { type FeedFixture, type FeedOptions, openFeed } from '../../../testing/captured-feed.ts';
import { atTestEnd } from '../../../testing/cleanup.ts';
import { openSession } from '../../../testing/gates.ts';
import { testDatabase } from '../../../testing/postgres.ts';
import { startTransactionPooler } from '../../../testing/transaction-pooler.ts';
import { loadConfig, type ResourceConfig } from '../../base/config/index.ts';
import { openDatabase } from '../../runtime.ts';
import { judgeVersion } from './check-server.ts';
import { examine } from './examine.ts';
import type { DoctorLimits, Finding } from './finding.ts';

const ddl = `create table property ("ListingKey" text primary key, "ModificationTimestamp" timestamptz)`;
const property = {
  name: 'Property',
  table: 'property',
  key: 'ListingKey',
  modified: 'ModificationTimestamp',
};
const quick = { watchMs: 20, notifyMs: 300 };

interface Asked {
  readonly url?: string;
  readonly resources?: readonly ResourceConfig[];
  readonly limits?: Partial<DoctorLimits>;
  readonly now?: () => number;
  readonly full?: boolean;
}

/** Examines a database as `pulsefeed doctor` does. */
async function examineUrl(url: string, asked: Asked = {}): Promise<Finding[]> {
  const loaded = await loadConfig({ env: { DATABASE_URL: url }, cwd: import.meta.dirname });
  const config = { ...loaded, resources: asked.resources ?? [property] };
  return examine({
    config,
    open: () => openDatabase(config, 'pulsefeed doctor'),
    limits: { ...quick, ...asked.limits },
    ...(asked.now === undefined ? {} : { now: asked.now }),
    ...(asked.full === undefined ? {} : { full: asked.full }),
  });
}

function ill(findings: readonly Finding[]): string[] {
  return findings
    .filter(({ level }) => level !== 'ok')
    .map(({ level, check, subject = '' }) => `${level} ${check} ${subject}`.trim());
}

function about(findings: readonly Finding[], check: string): Finding {
  const found = findings.find(finding => finding.check === check && finding.level !== 'ok');
  return found ?? assert.fail(`nothing was found about ${check}: ${JSON.stringify(findings)}`);
}

async function feedOf(
  extra = '',
  resources: readonly ResourceConfig[] = [property],
  options: FeedOptions = {},
): Promise<FeedFixture> {
  return openFeed(`${ddl};${extra}`, resources, options);
}

describe('doctor', () => {
  it('finds nothing wrong with a feed that works', async () => {
    const feed = await feedOf();
    await feed.provider.run(`insert into property values ('K1', now())`);
    await feed.events();
    assert.deepEqual(ill(await examineUrl(feed.url)), []);
  });

  it('explains every finding that is not ok', async () => {
    const feed = await feedOf('', [property], { capture: false });
    await feed.provider.run(`insert into property values ('K1', now())`);
    for (const { level, remedy } of await examineUrl(feed.url)) {
      assert.equal(remedy !== undefined, level !== 'ok');
    }
  });

  it('says that the database cannot be reached', async () => {
    const findings = await examineUrl('postgres://nobody@127.0.0.1:1/none');
    assert.deepEqual(ill(findings), ['fail database']);
    assert.match(about(findings, 'database').message, /ECONNREFUSED/);
  });

  it('refuses a server before version 14', () => {
    assert.equal(judgeVersion(130_022, 'postgres').level, 'fail');
    assert.equal(judgeVersion(140_000, 'postgres').level, 'ok');
  });

  it('finds migrations that have not run', async () => {
    const { url, drop } = await testDatabase();
    atTestEnd(drop);
    const findings = await examineUrl(url, { resources: [] });
    assert.deepEqual(ill(findings), ['warn tables', 'fail migrations']);
  });

  it('finds a table and a column that are gone', async () => {
    const feed = await feedOf();
    await feed.provider.run('alter table property drop column "ModificationTimestamp"');
    const findings = await examineUrl(feed.url, {
      resources: [property, { name: 'Office', table: 'office', key: 'OfficeKey' }],
    });
    const messages = findings.filter(({ check, level }) => check === 'tables' && level === 'fail');
    assert.deepEqual(
      messages.map(({ subject }) => subject),
      ['Property', 'Office'],
    );
    assert.match(messages[0]?.message ?? '', /no column ModificationTimestamp/);
    assert.match(messages[1]?.message ?? '', /no table office/);
  });

  it('finds a key without an index, without a unique index, and of a type that no index helps', async () => {
    const tables = `
      create table a (k text); create table b (k text); create index on b (k);
      create table c (k date primary key)`;
    const resources = ['a', 'b', 'c'].map(table => ({
      name: table.toUpperCase(),
      table,
      key: 'k',
      modified: 'm',
    }));
    const feed = await openFeed(
      tables.replaceAll('(k', '(m timestamptz, k').replace('on b (m timestamptz, k', 'on b (k'),
      resources,
    );
    assert.deepEqual(ill(await examineUrl(feed.url, { resources })), [
      'fail keys A',
      'warn keys B',
      'warn keys C',
    ]);
  });

  it('says what row level security hides', async () => {
    const feed = await feedOf('alter table property enable row level security', [property], {
      roles: ['feed_rls'],
      capture: false,
      user: {
        name: 'feed_rls',
        grants: 'grant create on database DATABASE to feed_rls; grant select on property to feed_rls',
      },
    });
    const own = new URL(feed.url);
    own.username = 'feed_rls';
    own.password = 'secret';
    assert.match(about(await examineUrl(own.href), 'keys').message, /Row level security/);
  });

  it('says what reconcile cannot see without a modified column', async () => {
    const { modified: _, ...blind } = property;
    const feed = await feedOf('', [blind]);
    assert.deepEqual(ill(await examineUrl(feed.url, { resources: [blind] })), ['warn modified Property']);
  });

  it('finds grants that are missing, each with the statement that gives it', async () => {
    const feed = await feedOf('', [property], { roles: ['feed_bare'] });
    await feed.provider.run(`create role feed_bare login password 'secret'`);
    const { pathname } = new URL(feed.url);
    await feed.provider.run(`revoke temporary on database ${pathname.slice(1)} from public`);
    const own = new URL(feed.url);
    own.username = 'feed_bare';
    own.password = 'secret';
    await feed.provider.run(
      'grant select on pulsefeed.migration to feed_bare; grant usage on schema pulsefeed to feed_bare',
    );
    const remedies = (await examineUrl(own.href))
      .filter(({ check }) => check === 'grants')
      .map(({ remedy }) => remedy);
    assert.deepEqual(remedies, [
      'grant select on "public"."property" to "feed_bare";',
      'grant select, insert, update, delete on all tables in schema pulsefeed to "feed_bare";',
      'grant temporary on database ... to "feed_bare";',
    ]);
    for (const remedy of remedies) {
      await feed.provider.run((remedy ?? '').replace('...', pathname.slice(1)));
    }
    assert.deepEqual(
      (await examineUrl(own.href)).filter(({ check, level }) => check === 'grants' && level !== 'ok'),
      [],
    );
    await feed.provider.run('drop owned by feed_bare');
  });

  it('finds capture that is different, disabled or missing', async () => {
    const feed = await feedOf();
    for (const [statement, expected] of [
      ['alter function pulsefeed."capture_Property" security invoker', /Capture is different/],
      ['alter table property disable trigger all', /Capture is disabled/],
      ['drop trigger "pulsefeed_capture_Property" on property', /Capture is missing/],
    ] as const) {
      await feed.provider.run(statement);
      const finding = about(await examineUrl(feed.url), 'capture');
      assert.equal(finding.level, 'fail');
      assert.match(finding.message, expected);
    }
  });

  it('finds a trigger that is left on a table which was swapped away', async () => {
    const feed = await feedOf();
    await feed.provider.run(`create table fresh (like property including all);
      alter table property rename to old; alter table fresh rename to property`);
    assert.deepEqual(ill(await examineUrl(feed.url)), ['fail capture Property', 'warn capture public.old']);
  });

  it('counts records without an event, and events without a record', async () => {
    const feed = await feedOf();
    await feed.provider.run(`insert into property values ('K1', now())`);
    await feed.events();
    await feed.provider.run(`set session_replication_role = replica; alter table property disable trigger all;
      insert into property values ('K2', now()), ('K3', now()); delete from property where "ListingKey" = 'K1';
      alter table property enable always trigger "pulsefeed_capture_Property";
      alter table property enable always trigger "pulsefeed_truncate_Property"`);
    const finding = about(await examineUrl(feed.url), 'records');
    assert.match(
      finding.message,
      /2 of 2 records have no event, 1 are gone without one \(such as K2, K3, K1\)/,
    );
  });

  it('takes a sample of a large table, and counts it when asked', async () => {
    const feed = await feedOf('', [property], { capture: false });
    await feed.provider.run(
      `insert into property select 'K' || n from generate_series(1, 500) n; analyze property`,
    );
    const sampled = about(await examineUrl(feed.url, { limits: { exactRows: 100 } }), 'records');
    assert.match(sampled.message, /500 of 500 sampled records have no event/);
    const counted = about(await examineUrl(feed.url, { limits: { exactRows: 100 }, full: true }), 'records');
    assert.match(counted.message, /500 of 500 records have no event/);
  });

  it('finds an outbox that nobody empties, and that nobody is there to do it', async () => {
    const feed = await feedOf();
    await feed.provider.run(`insert into property values ('K1', now())`);
    await feed.provider.run(`update pulsefeed.record_change set at = now() - interval '10 minutes'`);
    const findings = await examineUrl(feed.url);
    assert.match(about(findings, 'outbox').message, /1 changes wait, the oldest for 10 min\. Nothing moves/);
    assert.match(about(findings, 'sequencer').message, /No process is connected/);
  });

  it('names the process that holds the head and keeps the sequencer waiting', async () => {
    const feed = await feedOf();
    await feed.provider.run(`insert into property values ('K1', now())`);
    await feed.provider.run(`update pulsefeed.record_change set at = now() - interval '10 minutes'`);
    const hung = await openSession(feed.url, 'hung');
    await hung.begin();
    await hung.run('select from pulsefeed.log_head for update');
    const findings = await examineUrl(feed.url, { limits: { watchMs: 1_100 } });
    assert.match(
      about(findings, 'sequencer').message,
      new RegExp(`Process ${hung.pid} \\(hung, idle in transaction\\)`),
    );
    await hung.rollback();
  });

  it('finds a large batch that stands still', async () => {
    const feed = await feedOf();
    await feed.provider.run(`update pulsefeed.log_head set batch_stage = 'evaluating'`);
    const findings = await examineUrl(feed.url);
    assert.deepEqual(ill(findings), ['fail large batch', 'fail sequencer']);
  });

  it('finds a configuration that is not the one in the database', async () => {
    const feed = await feedOf('create table office ("OfficeKey" text primary key, m timestamptz)');
    const office = { name: 'Office', table: 'office', key: 'OfficeKey', modified: 'm' };
    const findings = await examineUrl(feed.url, { resources: [property, office] });
    assert.match(about(findings, 'rules').message, /names other resources than the database does/);
  });

  it('finds transactions that hold vacuum back: open, prepared, and kept by a slot', async () => {
    const feed = await feedOf();
    const old = await openSession(feed.url, 'report');
    await old.begin('isolation level repeatable read');
    await old.run('select count(*) from property');
    const limits = { oldTransactionMs: 0 };
    assert.equal(about(await examineUrl(feed.url, { limits }), 'vacuum').subject, `process ${old.pid}`);
    await old.rollback();
    const { pathname } = new URL(feed.url);
    const name = pathname.slice(1);
    await old.begin();
    await old.run(`insert into property values ('K1', now())`);
    await old.run(`prepare transaction '${name}'`);
    const prepared = await examineUrl(feed.url, { limits });
    assert.ok(ill(prepared).includes(`warn vacuum ${name}`), ill(prepared).join());
    await old.run(`rollback prepared '${name}'`);
    await old.run(`select pg_create_physical_replication_slot('${name}', true)`);
    assert.ok(ill(await examineUrl(feed.url, { limits })).includes(`warn vacuum ${name}`));
    await old.run(`select pg_drop_replication_slot('${name}')`);
  });

  it('finds a clock that differs from the database', async () => {
    const feed = await feedOf();
    const behind = await examineUrl(feed.url, { now: () => Date.now() - 60_000 });
    assert.match(about(behind, 'clock').message, /(59|60)\.\d s ahead of/);
    const ahead = await examineUrl(feed.url, { now: () => Date.now() + 60_000 });
    assert.match(about(ahead, 'clock').message, /(59|60)\.\d s behind/);
  });

  it('finds a pooler that takes sessions apart and swallows notifications', async () => {
    const feed = await feedOf();
    const findings = await examineUrl(await startTransactionPooler(feed.url));
    assert.deepEqual(ill(findings), ['fail sessions', 'fail notify']);
  });

  it('finds a database that takes no writes', async () => {
    const feed = await feedOf();
    const { pathname } = new URL(feed.url);
    await feed.provider.run(`alter database ${pathname.slice(1)} set default_transaction_read_only = on`);
    assert.equal(about(await examineUrl(feed.url), 'writable').level, 'fail');
  });
});
