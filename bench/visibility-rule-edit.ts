import { setTimeout as sleep } from 'node:timers/promises';
import type { Viewer } from '../server/base/auth/viewer.ts';
import { type ResourceTable, readResourceTables } from '../server/base/catalog/index.ts';
import type { Db } from '../server/base/db/index.ts';
import { defaultPace, dense, openLog, SequencerLoop } from '../server/log/index.ts';
import {
  addConsumer,
  applyFeeds,
  type FeedsConfig,
  RuleBook,
  VisibilityPolicy,
  WalkLoop,
} from '../server/visibility/index.ts';
import { buildSimulationDatabase, resources } from '../testing/simulated-provider.ts';
import { type OpenBench, print, quantile, took } from './visibility-figures.ts';
import { compared, stepWatch, untilSettled, writeUntil } from './visibility-load.ts';

interface Sizes {
  readonly records: number;
  readonly flips: number;
}

const quietMs = 10_000;
const batchSize = 10_000;
const pageSize = 1_000;
const pagePauseMs = 20;

const feeds = (idx: string): FeedsConfig => ({ IDX: { Property: idx }, VOW: { Property: 'a in (1, 2)' } });

/** An edit shows IDX a part of all records that it did not have, while listings change and consumers read. */
export async function measureRuleEdit(open: OpenBench, sizes: Sizes): Promise<void> {
  const db = await open('rules', buildSimulationDatabase);
  const tables = await readResourceTables(db, resources);
  await applyFeeds(db, feeds('a eq 1'), resources, tables);
  await took(`filled ${sizes.records} records`, () => fill(db, sizes));
  const viewer = await idxConsumer(db);
  const rules = new RuleBook(db, resources, tables);
  const { observe, steps, failures, longest } = stepWatch();
  const sequencer = openLog(db).sequence({ loadSources: () => rules.load(), numbering: dense, batchSize });
  const loop = new SequencerLoop(sequencer, observe, defaultPace, () => performance.now());
  const walks = new WalkLoop({ db, rules, tables }, observe, () => loop.poke());
  loop.start();
  walks.start();
  const load = { prefix: 'P', count: sizes.records };
  const during = async (done: Promise<unknown>) => {
    const [pages, writes] = await Promise.all([
      readUntil(db, tables, viewer, sizes.records, done),
      writeUntil(db, done, load),
    ]);
    return { pages, ...writes };
  };
  await during(sleep(2_000));
  const quiet = await during(sleep(quietMs));
  const { head } = await openLog(db).head();
  steps.length = 0;
  longest.ms = 0;
  const edit = async () => {
    await took('feeds apply', () => applyFeeds(db, feeds('a in (1, 2)'), resources, tables));
    await took('walked and numbered in', () => untilWalked(db));
  };
  const busy = await during(edit());
  await walks.stop();
  await loop.stop();
  print('records now in IDX', await flipped(db, head, sizes));
  print('longest step', `${longest.told}; p50 ${quantile(steps, 0.5).toFixed(0)} ms`);
  print('steps that failed', `${failures.length} ${failures.map(String).join('; ')}`);
  print("readers' pages", compared(quiet.pages, busy.pages));
  print("writes' transactions", compared(quiet.writes, busy.writes));
  print('from commit to number', compared(quiet.numbered, busy.numbered));
}

/** Live writes never end, so the outbox is never empty for long: what counts are the records that the walk queued. */
async function untilWalked(db: Db): Promise<void> {
  for (;;) {
    await untilSettled(db, () => false);
    const [row] = await db.query<{ left: boolean }>({
      text: `select exists (select from pulsefeed.record_change where op = 'r') as left`,
    });
    if (row?.left === false) return;
    await sleep(50);
  }
}

async function flipped(db: Db, head: bigint, { flips }: Sizes): Promise<string> {
  const [row] = await db.query<{ pulses: bigint; stored: bigint }>({
    text: `
select (
  select count(distinct e.key) from pulsefeed.entity_event e
  join property p on p."ListingKey" = e.key where e.seq > $1 and p.a = 2
) as pulses, (
  select count(*) from pulsefeed.record_state s join property p on p."ListingKey" = s.key
  where p.a = 2 and s.vis @> array(select id from pulsefeed.feed where name = 'IDX')
) as stored`,
    values: [head],
  });
  return `${row?.stored} of ${flips} stored, ${row?.pulses} of them told`;
}

async function readUntil(
  db: Db,
  tables: readonly ResourceTable[],
  viewer: Viewer,
  records: number,
  done: Promise<unknown>,
): Promise<number[]> {
  const state = { over: false };
  const finished = done.then(() => {
    state.over = true;
  });
  const policy = new VisibilityPolicy(new RuleBook(db, resources, tables));
  const log = openLog(db);
  const times: number[] = [];
  while (!state.over) {
    const after = BigInt(Math.floor(Math.random() * records * 0.8));
    const startedAt = performance.now();
    await policy.read(viewer, async ({ held }) => {
      const where = { text: 'e.seq > $1', values: [after] };
      const page = await log.read({ where, above: after, seekOnly: true, held, limit: pageSize });
      return { ruleVersion: page.ruleVersion, result: page };
    });
    times.push(performance.now() - startedAt);
    await sleep(pagePauseMs);
  }
  await finished;
  return times;
}

async function idxConsumer(db: Db): Promise<Viewer> {
  const consumerId = await addConsumer(db, {
    name: 'idx',
    clientId: 'idx',
    secretHash: '',
    scopes: ['read'],
    attributes: {},
    grants: ['IDX'],
  });
  return { consumerId, consumer: 'idx', scopes: new Set(['read']) };
}

/** Listings P1 to Pn, spread evenly those that the edit shows; all of them numbered once. */
async function fill(db: Db, { records, flips }: Sizes): Promise<void> {
  const every = Math.floor(records / flips);
  await db.transaction(
    tx =>
      tx.script(`
set local work_mem = '256MB';
insert into pulsefeed.resource (name) values ('Property');
insert into property
select 'P' || n, 'O1', case when n % ${every} = 0 and n / ${every} <= ${flips} then 2 else 1 end, 1
from generate_series(1, ${records}) n;
create temporary table known on commit drop as
select a, array_agg(f.id order by f.id) as feeds, bit_or(1::bigint << f.bit) as shared
from (values (1, 'IDX'), (1, 'VOW'), (2, 'VOW')) k (a, name) join pulsefeed.feed f using (name) group by a;
insert into pulsefeed.audience (feeds, shared, narrow, digest)
select feeds, shared, '{}', md5(array_to_string(feeds, ',')) from known;
insert into pulsefeed.record_state (resource_id, key, vis, parents)
select (select id from pulsefeed.resource), "ListingKey", k.feeds, array["ListOfficeKey"]
from property join known k using (a) order by 2;
insert into pulsefeed.entity_event (seq, shared, audience_id, resource_id, key)
select row_number() over (order by random()), a.shared, a.id, (select id from pulsefeed.resource), "ListingKey"
from property join known k using (a) join pulsefeed.audience a on a.feeds = k.feeds;
update pulsefeed.log_head set last_seq = ${records};
-- What capture noted of the filling is numbered already.
truncate pulsefeed.record_change;
update pulsefeed.visibility_walk set finished_at = now()`),
    { statementTimeoutMs: 1_800_000 },
  );
  await db.script('vacuum analyze');
  await db.script('checkpoint');
}
