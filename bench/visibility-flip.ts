import { setTimeout as sleep } from 'node:timers/promises';
import { readResourceTables } from '../server/base/catalog/index.ts';
import type { Db } from '../server/base/db/index.ts';
import { defaultPace, dense, openLog, SequencerLoop } from '../server/log/index.ts';
import { applyFeeds, RuleBook } from '../server/visibility/index.ts';
import { orderBreach, readFeedPulses, readStored } from '../testing/pulse-order.ts';
import { buildSimulationDatabase, resources } from '../testing/simulated-provider.ts';
import { type OpenBench, print, quantile, took } from './visibility-figures.ts';
import { compared, stepWatch, untilSettled, writeUntil } from './visibility-load.ts';

interface Sizes {
  readonly listings: number;
  readonly photos: number;
}

const quietMs = 10_000;
/** Changes in a step, as `serve` takes them unless told. */
const batchSize = 10_000;

const inherited = { Property: { inherit: 'Office' }, Media: { inherit: 'Property' } } as const;
const feeds = {
  IDX: { Office: 'a eq 1', ...inherited },
  VOW: { Office: 'a in (1, 2)', ...inherited },
  BBO: { Office: 'a in (2, 3)', ...inherited },
};

/** One office leaves IDX, stays in VOW and enters BBO, with all its listings and photos, while other listings change. */
export async function measureFlip(open: OpenBench, sizes: Sizes): Promise<void> {
  const db = await open('flip', buildSimulationDatabase);
  const tables = await readResourceTables(db, resources);
  await applyFeeds(db, feeds, resources, tables);
  await took(`filled an office of ${sizes.listings} listings, ${sizes.photos} photos`, () => fill(db, sizes));
  const rules = new RuleBook(db, resources, tables);
  const { observe, steps, failures, longest } = stepWatch();
  const sequencer = openLog(db).sequence({ loadSources: () => rules.load(), numbering: dense, batchSize });
  const loop = new SequencerLoop(sequencer, observe, defaultPace, () => performance.now());
  loop.start();
  const load = { prefix: 'Q', count: sizes.listings };
  const quiet = await writeUntil(db, sleep(quietMs), load);
  const before = await readStored(db);
  const { head } = await openLog(db).head();
  steps.length = 0;
  longest.ms = 0;
  const startedAt = performance.now();
  const flip = async () => {
    await db.query({ text: `update office set a = 2 where "OfficeKey" = 'O1'` });
    await untilSettled(db, key => key === 'O1');
  };
  const busy = await writeUntil(db, flip(), load);
  print('flipped in', `${((performance.now() - startedAt) / 1_000).toFixed(1)} s, ${steps.length} steps`);
  await loop.stop();
  const pulses = await readFeedPulses(db, head);
  const flipped = pulses.filter(({ key }) => !key.startsWith('Q'));
  const expected = 2 * (1 + sizes.listings + sizes.photos);
  print('pulses of the flip', `${flipped.length} of ${expected}`);
  print('order', orderBreach(before, await readStored(db), pulses) ?? 'kept in every feed');
  print('longest step', `${longest.told}; p50 ${quantile(steps, 0.5).toFixed(0)} ms`);
  print('steps that failed', `${failures.length} ${failures.map(String).join('; ')}`);
  print("writes' transactions", compared(quiet.writes, busy.writes));
  print('from commit to number', compared(quiet.numbered, busy.numbered));
}

/** The office O1 with listings P and photos M of them, and O2 with as many listings Q, all of them numbered. */
async function fill(db: Db, { listings, photos }: Sizes): Promise<void> {
  await db.transaction(
    tx =>
      tx.script(`
set local work_mem = '256MB';
insert into pulsefeed.resource (name) values ('Office'), ('Property'), ('Media');
insert into office values ('O1', 1, 1), ('O2', 1, 1);
insert into property select 'P' || n, 'O1', 1, 1 from generate_series(1, ${listings}) n;
insert into property select 'Q' || n, 'O2', 1, 1 from generate_series(1, ${listings}) n;
insert into media select 'M' || n, 'P' || 1 + n % ${listings}, 1, 1 from generate_series(1, ${photos}) n;
create temporary table known on commit drop as
select (select array_agg(id order by id) from pulsefeed.feed where name in ('IDX', 'VOW')) as vis,
  (select array_agg(id order by id) from pulsefeed.feed_definition where name in ('IDX', 'VOW', 'BBO')) as pass;
insert into pulsefeed.record_state (resource_id, key, own, pass, vis, parents)
select r.id, k.key, case when r.name <> 'Office' then '{}'::integer[] end, case when r.name <> 'Office' then pass end, vis, k.parents
from known cross join (
  select 'Office' as name, "OfficeKey" as key, null::text[] as parents from office
  union all select 'Property', "ListingKey", array["ListOfficeKey"] from property
  union all select 'Media', "MediaKey", array["ResourceRecordKey"] from media
) k join pulsefeed.resource r using (name)
order by 1, 2;
insert into pulsefeed.audience (feeds, shared, narrow, digest)
select vis, (select bit_or(1::bigint << bit) from pulsefeed.feed where id = any (vis)), '{}', md5(array_to_string(vis, ','))
from known;
insert into pulsefeed.entity_event (seq, shared, audience_id, resource_id, key)
select row_number() over (order by s.resource_id, s.key), a.shared, a.id, s.resource_id, s.key
from pulsefeed.record_state s cross join pulsefeed.audience a where a.id > 1;
update pulsefeed.log_head set last_seq = (select max(seq) from pulsefeed.entity_event);
-- What capture noted of the filling is numbered already.
truncate pulsefeed.record_change;
update pulsefeed.visibility_walk set finished_at = now()`),
    { statementTimeoutMs: 1_800_000 },
  );
  await db.script('vacuum analyze');
  await db.script('checkpoint');
}
