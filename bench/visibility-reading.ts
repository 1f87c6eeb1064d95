import { anonymous, type Viewer } from '../server/base/auth/viewer.ts';
import { readResourceTables } from '../server/base/catalog/index.ts';
import type { Db, Statement } from '../server/base/db/index.ts';
import { type EventLog, openLog } from '../server/log/index.ts';
import { addConsumer, applyFeeds, RuleBook, VisibilityPolicy } from '../server/visibility/index.ts';
import { buildSimulationDatabase, resources } from '../testing/simulated-provider.ts';
import { type OpenBench, print, quantile, took } from './visibility-figures.ts';

interface Sizes {
  readonly pulses: number;
  readonly offices: number;
  /** Prints how the server runs each page. */
  readonly explain: boolean;
}

const rounds = 60;
const pageSize = 1_000;

const feeds = {
  IDX: { Property: 'a eq 1' },
  VOW: { Property: 'a in (1, 2)' },
  BBO: { '*': true },
  OfficeOwn: { Property: 'ListOfficeKey eq @consumer.OfficeKey' },
} as const;

/** One who reads, with the cursor of a page. Pages begin where at least one full page is left. */
interface Reader {
  readonly name: string;
  /** Reads the page after a number; gives how many pulses came. */
  read(after: bigint): Promise<number>;
  /** How the server runs a page in the middle of the log. */
  explain(): Promise<string>;
  readonly pagesBelow: number;
}

/** An idle poll and a page of 1,000 for one office, for 100 offices, for IDX, against a log with one feed. */
export async function measureReading(open: OpenBench, sizes: Sizes): Promise<void> {
  const single = await open('single', buildSimulationDatabase);
  const many = await open('many', buildSimulationDatabase);
  await took('filled the log of one feed', () => fillSingle(single, sizes));
  const viewers = await consumers(many, sizes);
  await took('filled the log of many feeds', () => fillMany(many, sizes));
  const base = await readerOf(single, 'single-feed log', anonymous, 0.8);
  const readers = [
    base,
    await readerOf(many, 'one office', viewers.one, 0.3),
    await readerOf(many, '100 offices', viewers.hundred, 0.8),
    await readerOf(many, 'IDX', viewers.idx, 0.8),
  ];
  const idle = new Map(readers.map(({ name }) => [name, [] as number[]]));
  const page = new Map(readers.map(({ name }) => [name, [] as number[]]));
  for (let round = -5; round < rounds; round += 1) {
    for (const reader of readers) {
      const idleMs = await timed(() => reader.read(BigInt(sizes.pulses)), 0);
      const after = BigInt(Math.floor(Math.random() * sizes.pulses * reader.pagesBelow));
      const pageMs = await timed(() => reader.read(after), pageSize);
      if (round < 0) continue;
      idle.get(reader.name)?.push(idleMs);
      page.get(reader.name)?.push(pageMs);
    }
  }
  if (sizes.explain) for (const reader of readers) print(reader.name, `\n${await reader.explain()}`);
  tell('idle poll', idle, base.name);
  tell(`page of ${pageSize}`, page, base.name);
}

function tell(what: string, times: ReadonlyMap<string, readonly number[]>, base: string): void {
  const median = (name: string) => quantile(times.get(name) ?? [], 0.5);
  for (const name of times.keys()) {
    const ratio = (median(name) / median(base)).toFixed(2);
    print(`${what}, ${name}`, `median ${median(name).toFixed(2)} ms, ${ratio} times the single-feed log`);
  }
}

async function timed(work: () => Promise<number>, expected: number): Promise<number> {
  const startedAt = performance.now();
  const count = await work();
  const ms = performance.now() - startedAt;
  // With few pulses an office has less than a page.
  if (count > 0 !== expected > 0) throw new Error(`a page of ${count} pulses instead of ${expected}`);
  return ms;
}

async function readerOf(db: Db, name: string, viewer: Viewer, pagesBelow: number): Promise<Reader> {
  const policy = new VisibilityPolicy(new RuleBook(db, resources, await readResourceTables(db, resources)));
  const log = openLog(db);
  const readFrom = (through: EventLog, after: bigint) =>
    policy.read(viewer, async ({ held }) => {
      const where = { text: 'e.seq > $1', values: [after] };
      const found = await through.read({ where, above: after, seekOnly: true, held, limit: pageSize });
      return { ruleVersion: found.ruleVersion, result: found.pulses.length };
    });
  return {
    name,
    pagesBelow,
    read: after => readFrom(log, after),
    async explain() {
      const plans: string[] = [];
      const [row] = await db.query<{ seq: bigint }>({
        text: 'select last_seq / 4 as seq from pulsefeed.log_head',
      });
      await readFrom(openLog(explaining(db, plans)), row?.seq ?? 0n);
      return plans.join('\n');
    },
  };
}

/** Lets statements through, and keeps how the server ran those that read the log. */
function explaining(db: Db, plans: string[]): Db {
  return Object.assign(Object.create(db) as Db, {
    query: async (statement: Statement) => {
      const { text, values } = statement;
      const rows = await db.query<{ 'QUERY PLAN': string }>({
        text: `explain (analyze, buffers) ${text}`,
        ...(values === undefined ? {} : { values }),
      });
      plans.push(rows.map(row => row['QUERY PLAN']).join('\n'));
      return db.query(statement);
    },
  });
}

/** Who holds what: an office of middling size, every fiftieth office, IDX; and one with all, so that all feeds exist. */
async function consumers(db: Db, { offices }: Sizes) {
  await applyFeeds(db, feeds, resources, await readResourceTables(db, resources));
  const add = async (name: string, grants: readonly string[], keys: readonly number[]): Promise<Viewer> => {
    const consumerId = await addConsumer(db, {
      name,
      clientId: name,
      secretHash: '',
      scopes: ['read'],
      attributes: { OfficeKey: keys.map(key => `O${key}`) },
      grants,
    });
    return { consumerId, consumer: name, scopes: new Set(['read']) };
  };
  const some = (step: number) => Array.from({ length: Math.floor(offices / step) }, (_, n) => (n + 1) * step);
  await add('all', ['OfficeOwn'], some(1));
  return {
    one: await add('one', ['OfficeOwn'], [offices / 50]),
    hundred: await add('hundred', ['OfficeOwn'], some(offices / 100)),
    idx: await add('idx', ['IDX'], []),
  };
}

const finish: Statement['text'] = `
insert into pulsefeed.log_time (seq, at) select last_seq, now() from pulsefeed.log_head;
update pulsefeed.visibility_walk set finished_at = now()`;

async function fillSingle(db: Db, { pulses }: Sizes): Promise<void> {
  await big(
    db,
    `
insert into pulsefeed.resource (name) values ('Property');
insert into pulsefeed.entity_event (seq, shared, audience_id, resource_id, key)
select n, 1, 1, (select id from pulsefeed.resource), 'P' || lpad((random() * ${pulses / 10})::int::text, 9, '0')
from generate_series(1, ${pulses}) n;
update pulsefeed.log_head set last_seq = ${pulses};
${finish}`,
  );
}

/**
 * Every pulse is of one office, few of them large and many small, and of BBO; a part of VOW as well, and of those a
 * part of IDX. In two of a hundred a listing moves: the pulse after it goes to the office that it left, alone.
 */
async function fillMany(db: Db, { pulses, offices }: Sizes): Promise<void> {
  await big(
    db,
    `
set local work_mem = '256MB';
insert into pulsefeed.resource (name) values ('Property');
create temporary table kind on commit drop as
select s.kind, o.n as office, f.id as feed, s.feeds || f.id as feeds, s.mask
from (
  select kind, array_agg(id order by id) as feeds, bit_or(1::bigint << bit) as mask
  from (values (0, 'BBO'), (1, 'BBO'), (1, 'VOW'), (2, 'BBO'), (2, 'VOW'), (2, 'IDX')) k (kind, name)
  join pulsefeed.feed using (name)
  group by kind
  union all select 3, '{}'::integer[], 0
) s
cross join generate_series(1, ${offices}) o (n)
join pulsefeed.feed f on f.value = 'O' || o.n;
insert into pulsefeed.audience (feeds, shared, narrow, digest)
select feeds, mask, array[feed], md5(array_to_string(feeds, ',')) from kind;
create temporary table audience_of on commit drop as
select k.kind, k.office, k.feed, k.mask, a.id from kind k join pulsefeed.audience a on a.digest = md5(array_to_string(k.feeds, ','));
analyze audience_of;
select setseed(0.5);
create temporary table pulse on commit drop as
select n, case when n % 100 in (7, 57) then 3 when r < 0.3 then 0 when r < 0.6 then 1 else 2 end as kind,
  least(${offices}, 1 + floor(${offices} * o * o))::int as office, 'P' || lpad(k::int::text, 9, '0') as key
from (
  select n, random() as r, random() as o, random() * ${pulses / 10} as k from generate_series(1, ${pulses}) n
) g;
analyze pulse;
insert into pulsefeed.entity_event (seq, shared, audience_id, resource_id, key)
select p.n, a.mask, a.id, (select id from pulsefeed.resource), p.key
from pulse p join audience_of a on a.kind = p.kind and a.office = p.office order by p.n;
insert into pulsefeed.event_feed (feed_id, seq, resource_id, key)
select a.feed, p.n, (select id from pulsefeed.resource), p.key from pulse p join audience_of a on a.kind = p.kind and a.office = p.office order by p.n;
update pulsefeed.log_head set last_seq = ${pulses};
${finish}`,
  );
}

async function big(db: Db, sql: string): Promise<void> {
  await db.transaction(tx => tx.script(sql), { statementTimeoutMs: 3_600_000 });
  for (const table of ['entity_event', 'event_feed', 'feed', 'audience', 'consumer_feed']) {
    await db.script(`vacuum analyze pulsefeed.${table}`);
  }
  await db.script('checkpoint');
}
