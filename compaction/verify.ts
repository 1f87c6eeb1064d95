import type { Db, Queryable } from '../server/base/db/index.ts';
import { PulsefeedError } from '../server/base/errors.ts';
import { Archive, archivedTo, type EventLog, type RetireCheck, type RetireLag } from '../server/log/index.ts';
import { lastTold } from './told-sql.ts';

interface Difference {
  readonly reader: string;
  readonly resource: string;
  readonly key: string;
  readonly was: bigint | null;
  readonly is: bigint | null;
}

/**
 * Compares around a step, in its transaction, what every reader is told from every cursor, for the records that the step
 * may touch; and that no row went that the step did not account for. Only one check runs in a session at a time.
 * @throws EE-600 naming the first difference; the step is then undone.
 */
export const toldAsBefore: RetireCheck = {
  async before(tx, { after, upTo }) {
    await tx.script('set local enable_seqscan = off; set local enable_mergejoin = off; set local jit = off');
    await tx.script(`
create temporary table compaction_key on commit drop as
select distinct resource_id, key from pulsefeed.entity_event where seq > ${after} and seq <= ${upTo};
analyze compaction_key`);
    await tx.script(`create temporary table compaction_told on commit drop as ${toldOfKeys}`);
    await tx.script(`create temporary table compaction_rows on commit drop as ${rowsOfKeys}`);
  },
  async after(tx, _range, { dropped }) {
    const [found] = await tx.query<Difference>({ text: firstDifference });
    if (found !== undefined) throw fault(describe(found));
    const [count] = await tx.query<{ gone: bigint }>({
      text: `select (select rows from compaction_rows) - (select rows from (${rowsOfKeys}) n) as gone`,
    });
    if (count?.gone !== BigInt(dropped))
      throw fault(`${count?.gone} pulses went where ${dropped} should have`);
  },
};

const pulsesOfKeys = `
select e.seq, e.resource_id, e.key, e.shared, e.audience_id
from compaction_key k
cross join lateral (
  select * from pulsefeed.entity_event e where e.resource_id = k.resource_id and e.key = k.key offset 0
) e`;
const toldOfKeys = `with p as materialized (${pulsesOfKeys}) ${lastTold}`;
const rowsOfKeys = `select count(*) as rows from (${pulsesOfKeys}) p`;

const firstDifference = `
with now as materialized (${toldOfKeys})
select reader, r.name as resource, key, t.last as was, n.last as is
from compaction_told t
full join now n using (reader, resource_id, key)
join pulsefeed.resource r on r.id = resource_id
where t.last is distinct from n.last
order by least(t.last, n.last), reader
limit 1`;

function describe({ reader, resource, key, was, is }: Difference): string {
  const from = (was ?? 1n) - 1n;
  return (
    `${reader}, reading from ${from}, would ${is === null ? 'never be told' : `be told at ${is}`} of ` +
    `${resource} ${key}, which it was told of at ${was}`
  );
}

function fault(message: string): PulsefeedError {
  return new PulsefeedError('EE-600', message);
}

/** What verifying looked at. */
export interface Verified {
  /** Retained pulses that the rehearsal looked at. */
  readonly pulses: number;
  readonly wouldDrop: number;
  /** Records with a visibility stored. */
  readonly records: bigint;
}

/**
 * Proves three things on the live log. Every feed that shows a record has a retained pulse of it, be it archived. The bits, postings and
 * audience of every pulse say the same. And compacting all that is retained, rehearsed part by part and undone, would
 * tell every reader the same from every cursor. Down pulses that an earlier, faulty compaction lost cannot be found:
 * nothing in the database remembers them.
 * @throws EE-600 naming the first fault, EE-304 when the archive cannot be read.
 */
export async function verify(
  {
    db,
    log,
    lag,
    limit,
    archive = new Archive(undefined),
  }: { db: Db; log: EventLog; lag: RetireLag; limit: number; archive?: Archive },
  onStep: (upTo: bigint, target: bigint) => void = () => undefined,
): Promise<Verified> {
  // One snapshot for the table and the archive: a part that is moved meanwhile is in one of the two.
  const records = await db.transaction(async tx => {
    await tx.script('set transaction isolation level repeatable read');
    await listArchived(tx, archive);
    return checkStored(tx);
  });
  await checkPostings(db);
  let pulses = 0;
  let wouldDrop = 0;
  for (let after = 0n; ; ) {
    const outcome = await log.retire({ lag, limit, check: toldAsBefore, rehearseAfter: after });
    if (outcome.kind === 'idle') break;
    if (outcome.kind === 'standby') {
      await new Promise(resolve => setTimeout(resolve, standbyMs));
      continue;
    }
    pulses += outcome.examined;
    wouldDrop += outcome.dropped;
    onStep(outcome.upTo, outcome.target);
    if (outcome.upTo === outcome.target) break;
    after = outcome.upTo;
  }
  return { pulses, wouldDrop, records };
}

const standbyMs = 200;

/** Archived pulses as a temporary table, for as long as the transaction lasts. @throws EE-304 when one cannot be read. */
async function listArchived(tx: Queryable, archive: Archive): Promise<void> {
  await tx.script(`
create temporary table archived_pulse (
  resource_id smallint not null, key text collate "C" not null, audience_id integer not null
) on commit drop`);
  for await (const entry of archive.parts(tx, 0n, await archivedTo(tx))) {
    if (entry.file === null) continue;
    const { resourceIds, keys, audiences, audienceOf } = await archive.load(entry);
    await tx.query({
      text: 'insert into archived_pulse select * from unnest($1::smallint[], $2::text[], $3::integer[])',
      values: [[...resourceIds], [...keys], Array.from(audienceOf, place => audiences[place]?.id ?? 0)],
    });
  }
  await tx.script('create index on archived_pulse (resource_id, key); analyze archived_pulse');
}

async function checkStored(db: Queryable): Promise<bigint> {
  const [row] = await db.query<{
    records: bigint;
    resource: string | null;
    key: string | null;
    feed: string | null;
  }>({
    text: `
with lost as (
  select s.resource_id, s.key, v.feed
  from pulsefeed.record_state s
  cross join lateral unnest(s.vis) v (feed)
  where (select batch_stage from pulsefeed.log_head) is null and not exists (
    select from pulsefeed.entity_event e
    join pulsefeed.audience a on a.id = e.audience_id
    where e.resource_id = s.resource_id and e.key = s.key and v.feed = any (a.feeds)
  ) and not exists (
    select from archived_pulse e
    join pulsefeed.audience a on a.id = e.audience_id
    where e.resource_id = s.resource_id and e.key = s.key and v.feed = any (a.feeds)
  )
  limit 1
)
select (select count(*) from pulsefeed.record_state) as records, r.name as resource, l.key, f.name as feed
from (values (1)) one
left join lost l on true
left join pulsefeed.resource r on r.id = l.resource_id
left join pulsefeed.feed f on f.id = l.feed`,
  });
  if (row?.key != null)
    throw fault(`feed ${row.feed} shows ${row.resource} ${row.key}, and no pulse is left of it`);
  return row?.records ?? 0n;
}

async function checkPostings(db: Queryable): Promise<void> {
  const [row] = await db.query<{ seq: bigint }>({
    text: `
select e.seq
from pulsefeed.entity_event e
join pulsefeed.audience a on a.id = e.audience_id
where e.shared <> a.shared or a.narrow <> '{}' and a.narrow <> array(
  select p.feed_id from pulsefeed.event_feed p
  where p.seq = e.seq and p.feed_id = any (a.narrow)
  order by p.feed_id
)
union all
select p.seq from pulsefeed.event_feed p
left join pulsefeed.entity_event e on e.seq = p.seq
left join pulsefeed.audience a on a.id = e.audience_id
where (e.seq is null and p.seq > (select archived_to from pulsefeed.archive)) or p.feed_id <> all (a.narrow)
limit 1`,
  });
  if (row !== undefined) throw fault(`pulse ${row.seq}: its row, its postings and its audience differ`);
}
